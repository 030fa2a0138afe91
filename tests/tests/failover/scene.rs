//! Two processes that use one Redis and one backup.

mod operator;
mod visitors;

use std::{sync::Arc, time::Duration};

use ::redis::aio::MultiplexedConnection;
use axum::Router;
use serde_json::{Value, json};
use tokio::{sync::watch, time::Instant};
use vestibule_backup::{Backup, EntryPartition, QueueMetadata, StoredQueue};
use vestibule_backup_file::FileBackup;
use vestibule_domain::{
    id::{EntryId, QueueId},
    record::EntryRecord,
    settings::Settings,
};
use vestibule_engine::sync::SettingsPolicy;
use vestibule_faults::{Faults, FaultyBackup};
use vestibule_line::{Line, OperatorView};
use vestibule_promoter::Promoter;
use vestibule_tests::{
    api::Guest,
    entries::{now_ms, partition_of},
    in_process::{ApiRequest, ApiResponse, BOUND, build_router, local_config, send_to},
    lines::{Backend, ManualClock, configuration, fresh_queue, tick_order},
    waiting::wait_until,
};

pub(crate) use self::visitors::consume;

/// Two processes that use one Redis and one backup.
pub(crate) struct Scene {
    pub(crate) queue: QueueId,
    pub(crate) line: Line,
    pub(crate) backup: Arc<FaultyBackup>,
    pub(crate) routers: [Router; 2],
    pub(crate) connection: MultiplexedConnection,
    _stop: watch::Sender<bool>,
    _folder: tempfile::TempDir,
}

impl Scene {
    /// Opens a queue with these settings. By default one visitor is let in each hour, so the second one waits.
    pub(crate) async fn open(backend: Backend, settings: Value) -> Self {
        let line = Line::connect_patiently(&backend.url()).await.expect("it answers");
        Self::open_on_line(line, backend, settings).await
    }

    /// The same by a clock that the test moves. It starts with the current time.
    pub(crate) async fn open_with_clock(backend: Backend, settings: Value) -> (Self, ManualClock) {
        let clock = ManualClock::new();
        clock.set_ms(now_ms());
        let line = Line::connect_patiently(&backend.url()).await.expect("it answers");
        let line = line
            .with_given_time(clock.as_server_clock())
            .with_witness(clock.as_clock());
        (Self::open_on_line(line, backend, settings).await, clock)
    }

    async fn open_on_line(line: Line, backend: Backend, mut settings: Value) -> Self {
        for (name, value) in [("capacity", 1), ("batch", 1), ("interval_seconds", 3_600)] {
            if settings.get(name).is_none() {
                settings[name] = value.into();
            }
        }
        let map = settings.as_object().expect("an object");
        let folder = tempfile::tempdir().expect("a folder");
        let file = FileBackup::open(folder.path().join("store")).expect("a store");
        let backup = FaultyBackup::new(Arc::new(file), Faults::default());
        let queue = fresh_queue();
        let configuration = configuration(&Settings::from_map(map).expect("settings"));
        line.configure(&queue, &configuration, true)
            .await
            .expect("configured");
        let stored = StoredQueue {
            settings: map.clone().into(),
            settings_order: 0,
            metadata: QueueMetadata::new(configuration.salt),
        };
        assert!(backup.create_queue(&queue, &stored).await.expect("created"));
        let (stop, stopped) = watch::channel(false);
        let routers = [(); 2].map(|()| build_router(line.clone(), backup.clone(), local_config(), &stopped));
        let connection = backend.connection_to_owner(&queue).await;
        Self {
            queue,
            line,
            backup,
            routers,
            connection,
            _stop: stop,
            _folder: folder,
        }
    }

    pub(crate) async fn send(&self, ask: ApiRequest) -> ApiResponse {
        send_to(&self.routers[0], ask).await
    }

    pub(crate) async fn promote(&self) {
        self.promote_at_most(u64::MAX).await;
    }

    /// Sends a promoter's heartbeat, so that no request runs a fallback tick.
    pub(crate) async fn send_heartbeat(&self) {
        self.promote_at_most(0).await;
    }

    async fn promote_at_most(&self, asked: u64) {
        self.line
            .promote(&self.queue, tick_order(asked))
            .await
            .expect("promoted");
    }

    /// Flushes the journal as the promoter does.
    pub(crate) async fn flush(&self) {
        let until = Instant::now() + Duration::from_secs(10);
        vestibule_engine::flush::flush_journal(&self.line, &*self.backup, &self.partition(), 100, until)
            .await
            .expect("flush_journal");
    }

    pub(crate) fn key(&self, name: &str) -> String {
        format!("vestibule:{{{}}}:{name}", self.queue)
    }

    /// Does something while this many promoters run.
    pub(crate) async fn with_promoters<T>(&self, many: usize, work: impl Future<Output = T>) -> T {
        let (stop, stopped) = watch::channel(());
        let promoters: Vec<_> = (0..many)
            .map(|_| {
                let (line, backup) = (self.line.clone(), self.backup.clone());
                let promoter = Arc::new(Promoter::new(line, backup, SettingsPolicy::default()));
                let mut stopped = stopped.clone();
                tokio::spawn(async move {
                    let until = async move { drop(stopped.changed().await) };
                    promoter.run(until).await;
                })
            })
            .collect();
        let done = work.await;
        drop(stop);
        for promoter in promoters {
            promoter.await.expect("it does not panic");
        }
        done
    }

    /// The queue as the backup stores it.
    pub(crate) async fn stored_queue(&self) -> StoredQueue {
        let stored = self.backup.read_queue(&self.queue).await;
        stored.expect("an answer").expect("is there")
    }

    pub(crate) async fn view(&self) -> OperatorView {
        self.line.queue_view(&self.queue).await.expect("the line has it")
    }

    pub(crate) fn partition(&self) -> EntryPartition {
        partition_of(self.queue.clone())
    }

    pub(crate) async fn record(&self, guest: &Guest) -> EntryRecord {
        self.record_of(guest.entry_id()).await
    }

    pub(crate) async fn record_of(&self, id: EntryId) -> EntryRecord {
        let record = self.backup.read_entry(&self.partition(), id).await;
        record.expect("an answer").expect("a record")
    }

    /// The epoch of the queue in the line, if the line has it.
    pub(crate) async fn line_epoch(&self) -> Option<u32> {
        let view = self.line.queue_view(&self.queue).await.ok()?;
        Some(view.version.epoch)
    }

    /// Waits until the line has the queue again.
    pub(crate) async fn wait_until_restored(&self) {
        wait_until(BOUND, "the queue is restored", async || {
            self.line.queue_view(&self.queue).await.is_ok()
        })
        .await;
    }
}

/// The default settings of a scene.
pub(crate) fn default_settings() -> Value {
    json!({})
}
