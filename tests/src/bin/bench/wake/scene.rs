//! A process that serves the API, its Redis, and visitors in line.

use std::{collections::HashMap, net::SocketAddr, sync::Arc, time::Duration};

use futures_util::{StreamExt, TryStreamExt, stream};
use redis::aio::MultiplexedConnection;
use tempfile::TempDir;
use tokio::{
    net::TcpListener,
    sync::watch,
    task::JoinSet,
    time::{Instant, interval, sleep},
};
use uuid::Uuid;
use vestibule_api::{
    Services,
    config::{ApiConfig, Keys},
    router,
};
use vestibule_backup::{Backup, QueueMetadata, StoredQueue};
use vestibule_backup_file::FileBackup;
use vestibule_domain::{
    configuration::Configuration,
    id::{IdKey, QueueId, RootKey, Salt, Visitor},
    kept_times::KeptTimes,
    settings::Settings,
};
use vestibule_line::{Arrival, EnterOutcome, Line, LineError, LineHistory, PromoteOrder};
use vestibule_telemetry::emf::Metrics;
use vestibule_tests::in_process::{keys, local_config};

use super::visitors::{Call, Poller, now_us};
use crate::{BenchResult, scene::flush_redis};

/// More polls than any measurement holds.
const HELD_BUDGET: u32 = 100_000;
const ROOT_KEY: [u8; 32] = [7; 32];
/// The number of calls at the same time while visitors enter.
const CONCURRENT_CALLS: usize = 50;
/// A visitor who was refused polls again within this time.
const RETRY_MAX: Duration = Duration::from_millis(700);
/// Much shorter than the age of a heartbeat at which a request runs a fallback tick.
const HEARTBEAT_INTERVAL: Duration = Duration::from_millis(500);
/// Longer than it takes to hold all polls.
pub(crate) const TIME_LIMIT: Duration = Duration::from_secs(10);

pub(crate) struct Scene {
    line: Line,
    operator: MultiplexedConnection,
    queue: QueueId,
    /// The task that writes the heartbeat until the ticks begin.
    heartbeats: JoinSet<()>,
    pub(crate) address: SocketAddr,
    _stop: watch::Sender<bool>,
    _dir: TempDir,
}

impl Scene {
    /// Creates an empty Redis, and a queue whose visitors are all near enough to their turn to be held.
    pub(crate) async fn open(url: &str) -> BenchResult<Self> {
        let line = Line::connect(url).await?;
        let operator = flush_redis(url).await?;
        let queue: QueueId = "bench:wake".parse()?;
        line.configure(&queue, &configuration(true), true).await?;

        let dir = tempfile::tempdir()?;
        let backup = Arc::new(FileBackup::open(dir.path().join("store"))?);
        let settings = configuration(true).settings.to_map();
        let stored = StoredQueue {
            settings: settings.into(),
            settings_order: 0,
            metadata: QueueMetadata::new(configuration(true).salt),
        };
        backup.create_queue(&queue, &stored).await?;
        let config = ApiConfig {
            held_polls_max: HELD_BUDGET,
            ..local_config()
        };
        let root = RootKey::new(ROOT_KEY.to_vec()).map_err(|_| "long enough")?;
        let (stop, stopped) = watch::channel(false);
        let api = Services::new(
            line.clone(),
            backup,
            Keys { root, ..keys() },
            config,
            stopped,
            Metrics::for_process(),
        );
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        tokio::spawn(async move { axum::serve(listener, router(api)).await });
        Ok(Self {
            line,
            operator,
            queue,
            heartbeats: JoinSet::new(),
            address,
            _stop: stop,
            _dir: dir,
        })
    }

    /// Enters this many visitors, and opens the queue. From then on a task writes
    /// the heartbeat, because to connect the visitors takes longer than a heartbeat is valid.
    pub(crate) async fn enter_visitors(&mut self, visitor_count: usize) -> BenchResult<Vec<Poller>> {
        let root = RootKey::new(ROOT_KEY.to_vec()).map_err(|_| "long enough")?;
        let ids = IdKey::derive_for_queue(&root, &self.queue, &configuration(true).salt)
            .expect("the key of the salt");
        let enter = async |visitor: Uuid| {
            let id = ids.entry_id(&Visitor::from_random(visitor));
            let entered = self.line.enter(&self.queue, id, Arrival::Ordinary).await?;
            assert!(matches!(entered, EnterOutcome::Joined { .. }), "{entered:?}");
            BenchResult::Ok(Poller {
                entry_path: format!("/queues/{}/entries/{id}", self.queue),
                visitor,
            })
        };
        let visitors = stream::iter((0..visitor_count).map(|_| Uuid::new_v4()));
        let entries = visitors.map(enter).buffered(CONCURRENT_CALLS);
        let entries = entries.try_collect().await?;
        self.line.promote(&self.queue, promote_order(0)).await?;
        self.heartbeats
            .spawn(write_heartbeats(self.line.clone(), self.queue.clone()));
        self.line
            .configure(&self.queue, &configuration(false), false)
            .await?;
        Ok(entries)
    }

    /// Waits until the status of this many entries has been read one by one (`ZRANK`) and no more is read: then all
    /// polls are held. A batch of entries is read by other commands.
    pub(crate) async fn wait_until_held(&mut self, visitor_count: usize) -> BenchResult {
        let end = Instant::now() + TIME_LIMIT;
        let mut before = 0;
        loop {
            let lookups = self
                .read_command_counts()
                .await?
                .get("zrank")
                .copied()
                .unwrap_or_default();
            if lookups >= visitor_count as u64 && lookups == before {
                return Ok(());
            }
            if Instant::now() > end {
                return Err("the polls are not held in time".into());
            }
            before = lookups;
            sleep(RETRY_MAX).await;
        }
    }

    /// Ticks once a second. Each tick promotes this many entries.
    pub(crate) async fn tick(&mut self, ticks: u32, batch: u64) -> BenchResult<Vec<Call>> {
        self.heartbeats.shutdown().await;
        let claim_ms = configuration(false).settings.claim_ms();
        let mut clock = interval(Duration::from_secs(1));
        let mut called = Vec::new();
        for _ in 0..ticks {
            clock.tick().await;
            let at_us = now_us();
            // On an overloaded machine a tick may time out. The visitors whom it promotes do not count.
            let promotion = match self.line.promote(&self.queue, promote_order(batch)).await {
                Err(LineError::Unavailable(_)) => continue,
                answer => answer?,
            };
            if promotion.promoted != batch {
                // A machine that stands still for seconds makes a request run a fallback tick, which promotes first.
                eprintln!(
                    "bench: a tick promoted {} entries instead of {batch} and does not count",
                    promotion.promoted
                );
                continue;
            }
            let claim_by_ms = promotion.now_ms + claim_ms;
            called.push(Call { claim_by_ms, at_us });
        }
        clock.tick().await;
        Ok(called)
    }

    /// The number of commands that the server has run, also within scripts, without the `INFO` of this
    /// measurement.
    pub(crate) async fn count_commands(&mut self) -> BenchResult<u64> {
        let calls = self.read_command_counts().await?;
        Ok(calls
            .iter()
            .filter(|(name, _)| *name != "info")
            .map(|(_, calls)| calls)
            .sum())
    }

    async fn read_command_counts(&mut self) -> BenchResult<HashMap<String, u64>> {
        let output: String = redis::cmd("INFO")
            .arg("commandstats")
            .query_async(&mut self.operator)
            .await?;
        let calls = output.lines().filter_map(|line| {
            let (name, rest) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
            Some((name.to_owned(), rest.split(',').next()?.parse().ok()?))
        });
        Ok(calls.collect())
    }
}

/// Writes the heartbeat of a promoter that promotes no entry, so that requests run no fallback tick.
async fn write_heartbeats(line: Line, queue: QueueId) {
    loop {
        // On an overloaded machine a call may time out. The next one comes before the last heartbeat is too old.
        let _ = line.promote(&queue, promote_order(0)).await;
        sleep(HEARTBEAT_INTERVAL).await;
    }
}

fn promote_order(max_entries: u64) -> PromoteOrder {
    PromoteOrder {
        max_entries,
        is_promoter: true,
        min_watermark: None,
        history: LineHistory::default(),
    }
}

/// The configuration of the queue. While it is closed, each visitor waits.
fn configuration(is_closed: bool) -> Configuration {
    Configuration {
        settings: Settings {
            capacity: 100_000,
            batch: 5_000,
            interval_seconds: 1,
            paused: is_closed,
            ..Settings::default()
        },
        revision: if is_closed { "closed" } else { "open" }.to_owned(),
        settings_order: 0,
        epoch: 1,
        generation: 1,
        min_epoch: 1,
        salt: Salt::new([2; 32]),
        opened_at_ms: None,
        kept_times: KeptTimes::default(),
    }
}
