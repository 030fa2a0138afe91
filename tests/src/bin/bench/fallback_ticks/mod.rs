//! Measures how fast fallback ticks move a line while the promoter is off, compared with the same line and a
//! running promoter.

use std::{sync::Arc, time::Duration};

use axum::Router;
use futures_util::future::join_all;
use serde_json::json;
use tokio::{
    sync::watch,
    task::JoinHandle,
    time::{Instant, sleep},
};
use vestibule_backup_file::FileBackup;
use vestibule_domain::id::{IdKey, QueueId, Visitor};
use vestibule_engine::sync::SettingsPolicy;
use vestibule_line::{Arrival, Line, OperatorView};
use vestibule_promoter::Promoter;
use vestibule_tests::{
    functions::root_key,
    in_process::{ApiRequest, build_router, local_config, send_to},
    lines::fresh_queue,
};

use crate::{
    BenchResult, Context,
    figures::{as_f64, print_figure},
    scene::create_queue,
};

/// The number of processes. Each has connections of its own, as the processes of a function have.
const PROCESSES: usize = 8;
/// The visitors at the end of the line, who are not promoted and poll every [`POLL_PAUSE`].
const POLLERS: u32 = 400;
const POLL_PAUSE: Duration = Duration::from_secs(2);
/// Promotions per second.
const PACE: u32 = 200;
const MEASURED: Duration = Duration::from_secs(20);
/// A tick comes once a second.
const MEASURED_MIN: Duration = Duration::from_secs(4);
/// The polls run this long before the measurement starts.
const SETTLING: Duration = Duration::from_secs(3);

struct Bench {
    queue: QueueId,
    measured: Duration,
    line: Line,
    backup: Arc<FileBackup>,
    processes: Vec<Router>,
    /// The tokens and the secrets of the polling visitors.
    pollers: Vec<(String, String)>,
    _folder: tempfile::TempDir,
    _stop: watch::Sender<bool>,
}

pub(crate) async fn measure(context: &Context) -> BenchResult {
    let promoter = measure_line(&Bench::open(context).await?, true).await?;
    let calls = measure_line(&Bench::open(context).await?, false).await?;
    print_figure("promoted_per_second_by_promoter", promoter.per_second, 1);
    print_figure("promoted_per_second_by_calls", calls.per_second, 1);
    print_figure("calls_vs_promoter", calls.per_second / promoter.per_second, 3);
    print_figure("ticks_per_second_by_calls", calls.ticks_per_second, 2);
    println!("overshoot={}", promoter.overshoot.max(calls.overshoot));
    Ok(())
}

impl Bench {
    /// Creates a line that is longer than the measurement needs.
    async fn open(context: &Context) -> BenchResult<Self> {
        let url = &context.redis_url;
        let measured = context.size.time(MEASURED).max(MEASURED_MIN);
        let line = Line::connect(url).await?;
        let folder = tempfile::tempdir()?;
        let backup = Arc::new(FileBackup::open(folder.path().join("store"))?);
        let queue = fresh_queue();
        // Only the visitors at the end of the line poll, and the others are to be promoted without it.
        let settings = json!({
            "capacity": 1_000_000, "batch": PACE, "interval_seconds": 1, "claim_seconds": 600, "presence_seconds": 0,
        });
        let configuration = create_queue(&line, Some(&*backup), &queue, &settings).await?;

        let ids =
            IdKey::derive_for_queue(&root_key(), &queue, &configuration.salt).expect("the key of the salt");
        let promoted = (measured.as_secs() + 10) * u64::from(PACE);
        let mut pollers = Vec::new();
        for n in 0..promoted + u64::from(POLLERS) {
            let id = ids.entry_id(&Visitor::known(&n.to_string())?);
            line.enter(&queue, id, Arrival::Ordinary).await?;
            if n >= promoted {
                pollers.push((id.to_string(), ids.visitor_secret(id).reveal().to_owned()));
            }
        }
        let (stop, stopped) = watch::channel(false);
        let mut processes = Vec::new();
        for _ in 0..PROCESSES {
            let own = Line::connect(url).await?;
            processes.push(build_router(own, backup.clone(), local_config(), &stopped));
        }
        Ok(Self {
            queue,
            measured,
            line,
            backup,
            processes,
            pollers,
            _folder: folder,
            _stop: stop,
        })
    }

    /// Runs the polls of the waiting visitors. Each visitor polls at a time of their own.
    fn start_polls(&self) -> JoinHandle<()> {
        let ask = |(n, (token, secret)): (u32, &(String, String))| {
            let path = format!("/queues/{}/entries/{token}", self.queue);
            let (process, secret) = (self.processes[n as usize % PROCESSES].clone(), secret.clone());
            async move {
                sleep(POLL_PAUSE * n / POLLERS).await;
                loop {
                    let poll = ApiRequest::get(&path).visitor(&secret);
                    send_to(&process, poll).await.expect_status(200);
                    sleep(POLL_PAUSE).await;
                }
            }
        };
        let polls: Vec<_> = (0..).zip(&self.pollers).map(ask).collect();
        tokio::spawn(async move { drop(join_all(polls).await) })
    }

    fn start_promoter(&self) -> JoinHandle<()> {
        let (line, backup) = (self.line.clone(), self.backup.clone());
        let promoter = Arc::new(Promoter::new(line, backup, SettingsPolicy::default()));
        tokio::spawn(async move { promoter.run(std::future::pending()).await })
    }
}

struct Figures {
    per_second: f64,
    ticks_per_second: f64,
    /// Promotions above the content and the refill of the token bucket.
    overshoot: u64,
}

async fn measure_line(bench: &Bench, with_promoter: bool) -> BenchResult<Figures> {
    let polls = bench.start_polls();
    let promoter = with_promoter.then(|| bench.start_promoter());
    sleep(SETTLING).await;
    let mut views = Vec::new();
    let end = Instant::now() + bench.measured;
    while Instant::now() < end {
        views.push(bench.line.queue_view(&bench.queue).await?);
        sleep(Duration::from_millis(50)).await;
    }
    polls.abort();
    if let Some(promoter) = promoter {
        promoter.abort();
    }
    let (first, last) = (&views[0], views.last().ok_or("no view")?);
    let seconds = as_f64(last.now_ms - first.now_ms) / 1_000.0;
    let mut ticks: Vec<_> = views.iter().map(|view| view.fallback_ticked_at_ms).collect();
    ticks.dedup();
    Ok(Figures {
        per_second: as_f64(last.totals.promoted - first.totals.promoted) / seconds,
        ticks_per_second: as_f64(ticks.len() as u64 - 1) / seconds,
        overshoot: count_overshoot(&views),
    })
}

fn count_overshoot(views: &[OperatorView]) -> u64 {
    let admitted = |view: &OperatorView| view.totals.promoted + view.totals.fast_tracked;
    let pairs = views.iter().enumerate().flat_map(|(n, from)| {
        views[n..].iter().map(move |to| {
            let earned = u64::from(PACE) + (to.now_ms - from.now_ms) * u64::from(PACE) / 1_000;
            (admitted(to) - admitted(from)).saturating_sub(earned)
        })
    });
    pairs.max().unwrap_or(0)
}
