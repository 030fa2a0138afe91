//! A process that serves the edge, its Redis, and a crowd in line.

use std::{collections::HashMap, net::SocketAddr, sync::Arc, time::Duration};

use futures_util::{StreamExt, TryStreamExt, stream};
use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use tempfile::TempDir;
use tokio::{
    net::TcpListener,
    sync::watch,
    time::{Instant, interval, sleep},
};
use vestibule_api::{
    ApiState,
    config::{ApiConfig, Keys},
    router,
};
use vestibule_backup::{Backup, QueueMetadata, StoredQueue};
use vestibule_backup_file::FileBackup;
use vestibule_domain::{
    configuration::Configuration,
    id::{EntryId, IdKey, QueueId, RootKey, Salt, Visitor},
    settings::Settings,
};
use vestibule_line::{EnterOutcome, EntryLine, LineError, PromoteOrder, PromotionLine, RecoveryLine};
use vestibule_line_redis::RedisLine;
use vestibule_tests::in_process::{local_config, signer};

use crate::{
    Failure,
    visitors::{Call, now_us},
};

/// More than anybody here holds.
const HELD_BUDGET: u32 = 100_000;
/// Calls side by side while the crowd comes.
const ABREAST: usize = 50;
/// Whoever was sent away comes again within this.
const QUIET: Duration = Duration::from_millis(700);
/// Longer than a crowd takes to be held.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) struct Scene {
    line: RedisLine,
    operator: ConnectionManager,
    queue: QueueId,
    pub(crate) address: SocketAddr,
    _stop: watch::Sender<bool>,
    _dir: TempDir,
}

impl Scene {
    /// An empty Redis, and a queue in which all who come are near enough to their turn to be held.
    pub(crate) async fn open(url: &str) -> Result<Self, Failure> {
        let line = RedisLine::connect(url).await?;
        // Dropping what the last round left takes a while.
        let patient = ConnectionManagerConfig::new().set_response_timeout(Some(Duration::from_mins(1)));
        let client = redis::Client::open(url)?;
        let mut operator = client.get_connection_manager_with_config(patient).await?;
        redis::cmd("FLUSHALL").query_async::<()>(&mut operator).await?;
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
        let root = RootKey::new(vec![7; 32]).map_err(|_| "long enough")?;
        let signer = signer();
        let (stop, stopped) = watch::channel(false);
        let edge = ApiState::new(
            Arc::new(line.clone()),
            backup,
            Keys { root, signer },
            config,
            stopped,
        );
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        tokio::spawn(async move { axum::serve(listener, router(edge)).await });
        Ok(Self {
            line,
            operator,
            queue,
            address,
            _stop: stop,
            _dir: dir,
        })
    }

    /// So many visitors in line: the paths of their entries.
    pub(crate) async fn line_up(&self, crowd: usize) -> Result<Vec<String>, Failure> {
        let enter = async |id: EntryId| {
            let entered = self.line.enter(&self.queue, id).await?;
            assert!(matches!(entered, EnterOutcome::Joined { .. }), "{entered:?}");
            Ok::<_, Failure>(format!("/queues/{}/entries/{id}", self.queue))
        };
        let entries = stream::iter(entry_ids(crowd)).map(enter).buffered(ABREAST);
        let entries = entries.try_collect().await?;
        self.beat().await?;
        self.line
            .configure(&self.queue, &configuration(false), false)
            .await?;
        Ok(entries)
    }

    /// Waits until so many have been looked at, each by itself (`ZRANK` and `ZSCORE`; those who are looked at together are
    /// asked for by other commands), and nobody is any more: they are held then.
    pub(crate) async fn until_asked_for(&mut self, crowd: usize) -> Result<(), Failure> {
        let end = Instant::now() + PATIENCE;
        let mut before = 0;
        loop {
            let looks = self.commands().await?.get("zscore").copied().unwrap_or_default();
            if looks >= crowd as u64 && looks == before {
                return Ok(());
            }
            if Instant::now() > end {
                return Err("the crowd is not held".into());
            }
            before = looks;
            self.beat().await?;
            sleep(QUIET).await;
        }
    }

    /// What a promoter does that has nobody to call: the line does not begin to drive itself.
    async fn beat(&self) -> Result<(), Failure> {
        self.line.promote(&self.queue, of(0)).await?;
        Ok(())
    }

    /// Ticks once a second, each time for so many.
    pub(crate) async fn tick(&self, ticks: u32, batch: u64) -> Result<Vec<Call>, Failure> {
        let claim_ms = configuration(false).settings.claim_ms();
        let mut clock = interval(Duration::from_secs(1));
        let mut called = Vec::new();
        for _ in 0..ticks {
            clock.tick().await;
            let at_us = now_us();
            // Where the machine can do no more, a tick may be late as well: nobody counts those whom it calls.
            let promotion = match self.line.promote(&self.queue, of(batch)).await {
                Err(LineError::Unavailable(_)) => continue,
                answer => answer?,
            };
            if promotion.promoted != batch {
                return Err(format!("{promotion:?}").into());
            }
            let claim_by_ms = promotion.now_ms + claim_ms;
            called.push(Call { claim_by_ms, at_us });
        }
        clock.tick().await;
        Ok(called)
    }

    /// How many commands the server has carried out but for what this asks, also those within scripts.
    pub(crate) async fn calls(&mut self) -> Result<u64, Failure> {
        let calls = self.commands().await?;
        Ok(calls
            .iter()
            .filter(|(name, _)| *name != "info")
            .map(|(_, calls)| calls)
            .sum())
    }

    async fn commands(&mut self) -> Result<HashMap<String, u64>, Failure> {
        let said: String = redis::cmd("INFO")
            .arg("commandstats")
            .query_async(&mut self.operator)
            .await?;
        let calls = said.lines().filter_map(|line| {
            let (name, rest) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
            Some((name.to_owned(), rest.split(',').next()?.parse().ok()?))
        });
        Ok(calls.collect())
    }
}

fn of(asked: u64) -> PromoteOrder {
    PromoteOrder {
        max_entries: asked,
        is_promoter: true,
        min_watermark: None,
    }
}

fn entry_ids(count: usize) -> Vec<EntryId> {
    let root = RootKey::new(vec![1; 32]).expect("long enough");
    let key = IdKey::derive_for_queue(&root, &"bench".parse().expect("a queue id"), &Salt::new([2; 32]));
    (0..count)
        .map(|n| key.entry_id(&Visitor::known(&n.to_string()).expect("a visitor id")))
        .collect()
}

/// While it is shut, everybody who comes waits.
fn configuration(is_shut: bool) -> Configuration {
    Configuration {
        settings: Settings {
            capacity: 100_000,
            batch: 5_000,
            interval_seconds: 1,
            paused: is_shut,
            ..Settings::default()
        },
        revision: if is_shut { "shut" } else { "open" }.to_owned(),
        settings_order: 0,
        epoch: 1,
        generation: 1,
        min_epoch: 1,
        salt: Salt::new([2; 32]),
    }
}
