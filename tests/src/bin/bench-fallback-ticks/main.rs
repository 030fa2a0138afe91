//! Measures how fast a line moves by the calls of those who wait in it, with the promoter off, against the same line with the
//! promoter on.
//!
//! Prints one `name=value` a line. Run it with `make bench-fallback-ticks`, which starts a Redis of its own.

use std::{env, error::Error, sync::Arc, time::Duration};

use axum::Router;
use futures_util::future::join_all;
use serde_json::json;
use tokio::{
    sync::watch,
    task::JoinHandle,
    time::{Instant, sleep},
};
use vestibule_backup::{Backup, QueueMetadata, StoredQueue};
use vestibule_backup_file::FileBackup;
use vestibule_domain::{
    id::{IdKey, QueueId, Visitor},
    settings::Settings,
};
use vestibule_engine::sync::SettingsPolicy;
use vestibule_line::{EntryLine, QueueLine, QueueView, RecoveryLine};
use vestibule_line_redis::RedisLine;
use vestibule_operate::promoter::Promoter;
use vestibule_tests::{
    functions::root_key,
    in_process::{ApiRequest, build_router, local_config, send_to},
    lines::{configuration, fresh_queue},
};

/// As so many environments of a function, each with connections of its own.
const PROCESSES: usize = 8;
/// Those who wait behind all who are promoted, and look every [`EACH`].
const POLLERS: u32 = 400;
const EACH: Duration = Duration::from_secs(2);
/// A second.
const PACE: u32 = 200;
const SECONDS: u64 = 20;
/// So long is everybody in line before it is measured.
const SETTLING: Duration = Duration::from_secs(3);

struct Bench {
    queue: QueueId,
    line: RedisLine,
    backup: Arc<FileBackup>,
    processes: Vec<Router>,
    /// Of the pollers.
    tokens: Vec<String>,
    _folder: tempfile::TempDir,
    _stop: watch::Sender<bool>,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = env::var("TEST_REDIS_URL")
        .map_err(|_| "TEST_REDIS_URL is not set: run this with `make bench-fallback-ticks`")?;
    let promoter = measure(&Bench::open(&url).await?, true).await?;
    let calls = measure(&Bench::open(&url).await?, false).await?;
    println!("promoted_per_second_by_promoter={:.1}", promoter.per_second);
    println!("promoted_per_second_by_calls={:.1}", calls.per_second);
    println!("calls_vs_promoter={:.3}", calls.per_second / promoter.per_second);
    println!("ticks_per_second_by_calls={:.2}", calls.ticks_per_second);
    println!("overshoot={}", promoter.overshoot.max(calls.overshoot));
    Ok(())
}

impl Bench {
    /// A line that lasts longer than the measurement.
    async fn open(url: &str) -> Result<Self, Box<dyn Error>> {
        let line = RedisLine::connect(url).await?;
        let folder = tempfile::tempdir()?;
        let backup = Arc::new(FileBackup::open(folder.path().join("store"))?);
        let queue = fresh_queue();
        let settings =
            json!({ "capacity": 1_000_000, "batch": PACE, "interval_seconds": 1, "claim_seconds": 600 });
        let settings = settings.as_object().ok_or("an object")?;
        let configuration = configuration(&Settings::from_map(settings)?);
        line.configure(&queue, &configuration, true).await?;
        let stored = StoredQueue {
            settings: settings.clone().into(),
            settings_order: 0,
            metadata: QueueMetadata::new(configuration.salt),
        };
        backup.create_queue(&queue, &stored).await?;

        let ids = IdKey::derive_for_queue(&root_key(), &queue, &configuration.salt);
        let promoted = (SECONDS + 10) * u64::from(PACE);
        let mut tokens = Vec::new();
        for n in 0..promoted + u64::from(POLLERS) {
            let id = ids.entry_id(&Visitor::known(&n.to_string())?);
            line.enter(&queue, id).await?;
            if n >= promoted {
                tokens.push(id.to_string());
            }
        }
        let (stop, stopped) = watch::channel(false);
        let mut processes = Vec::new();
        for _ in 0..PROCESSES {
            let own = Arc::new(RedisLine::connect(url).await?);
            processes.push(build_router(own, backup.clone(), local_config(), &stopped));
        }
        Ok(Self {
            queue,
            line,
            backup,
            processes,
            tokens,
            _folder: folder,
            _stop: stop,
        })
    }

    /// Those who wait look now and then, each in its own moment.
    fn polls(&self) -> JoinHandle<()> {
        let ask = |(n, token): (u32, &String)| {
            let path = format!("/queues/{}/entries/{token}", self.queue);
            let process = self.processes[n as usize % PROCESSES].clone();
            async move {
                sleep(EACH * n / POLLERS).await;
                loop {
                    send_to(&process, ApiRequest::get(&path)).await.expect_status(200);
                    sleep(EACH).await;
                }
            }
        };
        let polls: Vec<_> = (0..).zip(&self.tokens).map(ask).collect();
        tokio::spawn(async move { drop(join_all(polls).await) })
    }

    fn promoter(&self) -> JoinHandle<()> {
        let (line, backup) = (Arc::new(self.line.clone()), self.backup.clone());
        let promoter = Arc::new(Promoter::new(line, backup, SettingsPolicy::default()));
        tokio::spawn(async move { promoter.run(std::future::pending()).await })
    }
}

struct Measured {
    per_second: f64,
    ticks_per_second: f64,
    /// More than the bucket had at any time.
    overshoot: u64,
}

#[allow(clippy::cast_precision_loss)] // Counts are small.
async fn measure(bench: &Bench, with_promoter: bool) -> Result<Measured, Box<dyn Error>> {
    let polls = bench.polls();
    let promoter = with_promoter.then(|| bench.promoter());
    sleep(SETTLING).await;
    let mut views = Vec::new();
    let end = Instant::now() + Duration::from_secs(SECONDS);
    while Instant::now() < end {
        views.push(bench.line.queue_view(&bench.queue).await?);
        sleep(Duration::from_millis(50)).await;
    }
    polls.abort();
    if let Some(promoter) = promoter {
        promoter.abort();
    }
    let (first, last) = (&views[0], views.last().ok_or("no view")?);
    let seconds = (last.now_ms - first.now_ms) as f64 / 1_000.0;
    let mut ticks: Vec<_> = views.iter().map(|view| view.fallback_ticked_at_ms).collect();
    ticks.dedup();
    Ok(Measured {
        per_second: (last.totals.promoted - first.totals.promoted) as f64 / seconds,
        ticks_per_second: (ticks.len() - 1) as f64 / seconds,
        overshoot: overshoot(&views),
    })
}

fn overshoot(views: &[QueueView]) -> u64 {
    let let_out = |view: &QueueView| view.totals.promoted + view.totals.fast_tracked;
    let pairs = views.iter().enumerate().flat_map(|(n, from)| {
        views[n..].iter().map(move |to| {
            let earned = u64::from(PACE) + (to.now_ms - from.now_ms) * u64::from(PACE) / 1_000;
            (let_out(to) - let_out(from)).saturating_sub(earned)
        })
    });
    pairs.max().unwrap_or(0)
}
