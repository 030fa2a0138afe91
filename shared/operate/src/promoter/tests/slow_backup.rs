//! A slow backup: promotion must not wait for it, and the journal must still reach it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use tokio::time::{Instant, sleep};
use uuid::Uuid;
use vestibule_backup::{
    Backup, BackupError, EntryPartition, Lease, LeaseOutcome, PlacePutOutcome, PutOutcome, QueueMetadata,
    StoredQueue, StoredSettings,
};
use vestibule_backup_file::FileBackup;
use vestibule_domain::{
    change::Change,
    id::{EntryId, QueueId, Salt},
    record::EntryRecord,
};
use vestibule_engine::{flush::flush_journal, sync::SettingsPolicy};
use vestibule_line_memory::MemoryLine;

use super::{Fixture, entry_id};
use crate::promoter::Promoter;

/// A test double: a backup that takes the time `record` for each batch of a flush and does not store it.
/// Everything else goes to the file backup.
pub(super) struct SlowBackup {
    backup: Arc<FileBackup>,
    batch_duration: Duration,
    /// How many batches are being written now.
    writing: AtomicUsize,
    writing_max: AtomicUsize,
}

impl SlowBackup {
    pub(super) fn new(scene: &Fixture, record: Duration) -> Arc<Self> {
        Arc::new(Self {
            backup: scene.backup.clone(),
            batch_duration: record,
            writing: AtomicUsize::new(0),
            writing_max: AtomicUsize::new(0),
        })
    }
}

#[async_trait]
impl Backup for SlowBackup {
    async fn put_changes(
        &self,
        _: &EntryPartition,
        changes: &[Change],
        _: Instant,
    ) -> Vec<Result<PutOutcome, BackupError>> {
        let now = self.writing.fetch_add(1, Ordering::SeqCst) + 1;
        self.writing_max.fetch_max(now, Ordering::SeqCst);
        sleep(self.batch_duration).await;
        self.writing.fetch_sub(1, Ordering::SeqCst);
        changes.iter().map(|_| Ok(PutOutcome::Superseded)).collect()
    }

    async fn put_change(&self, shelf: &EntryPartition, change: &Change) -> Result<PutOutcome, BackupError> {
        self.backup.put_change(shelf, change).await
    }

    async fn put_place(
        &self,
        shelf: &EntryPartition,
        change: &Change,
    ) -> Result<PlacePutOutcome, BackupError> {
        self.backup.put_place(shelf, change).await
    }

    async fn read_entry(
        &self,
        shelf: &EntryPartition,
        id: EntryId,
    ) -> Result<Option<EntryRecord>, BackupError> {
        self.backup.read_entry(shelf, id).await
    }

    async fn read_live_entries(
        &self,
        shelf: &EntryPartition,
        shard: u8,
    ) -> Result<Vec<EntryRecord>, BackupError> {
        self.backup.read_live_entries(shelf, shard).await
    }

    async fn read_queue(&self, queue: &QueueId) -> Result<Option<StoredQueue>, BackupError> {
        self.backup.read_queue(queue).await
    }

    async fn list_queues(&self) -> Result<Vec<QueueId>, BackupError> {
        self.backup.list_queues().await
    }

    async fn create_queue(&self, queue: &QueueId, stored: &StoredQueue) -> Result<bool, BackupError> {
        self.backup.create_queue(queue, stored).await
    }

    async fn replace_settings(
        &self,
        queue: &QueueId,
        expected: &StoredSettings,
        settings: &Map<String, Value>,
    ) -> Result<Option<u64>, BackupError> {
        self.backup.replace_settings(queue, expected, settings).await
    }

    async fn take_lease(
        &self,
        queue: &QueueId,
        epoch: u32,
        lease: Lease,
        now_ms: u64,
    ) -> Result<LeaseOutcome, BackupError> {
        self.backup.take_lease(queue, epoch, lease, now_ms).await
    }

    async fn renew_lease(&self, queue: &QueueId, epoch: u32, lease: Lease) -> Result<bool, BackupError> {
        self.backup.renew_lease(queue, epoch, lease).await
    }

    async fn release_lease(&self, queue: &QueueId, epoch: u32, holder: Uuid) -> Result<(), BackupError> {
        self.backup.release_lease(queue, epoch, holder).await
    }

    async fn raise_watermark(&self, queue: &QueueId, epoch: u32, fence: u64) -> Result<(), BackupError> {
        self.backup.raise_watermark(queue, epoch, fence).await
    }

    async fn begin_generation(
        &self,
        queue: &QueueId,
        epoch: u32,
        salt: Salt,
    ) -> Result<Option<QueueMetadata>, BackupError> {
        self.backup.begin_generation(queue, epoch, salt).await
    }

    async fn ping(&self) -> Result<(), BackupError> {
        self.backup.ping().await
    }
}

/// A line whose clock follows tokio's time, so that it stops while that is paused.
pub(super) fn paced_line() -> Arc<MemoryLine> {
    let start = Instant::now();
    Arc::new(MemoryLine::with_clock(Arc::new(move || {
        let passed = Instant::now().duration_since(start).as_micros();
        1_800_000_000_000_000 + u64::try_from(passed).expect("a test is short")
    })))
}

/// Sets up a queue with a pace of one entry per second and this many visitors, whose entries are in the line
/// only.
async fn queue_with_waiting_visitors(
    scene: &Fixture,
    name: &str,
    visitors: u32,
) -> (QueueId, EntryPartition) {
    let pace = json!({ "capacity": 1_000, "batch": 1, "interval_seconds": 1 });
    let (queue, shelf) = scene.create_queue(name, pace).await;
    for visitor in 0..visitors {
        scene
            .line
            .enter(&queue, entry_id(&queue, &visitor.to_string()))
            .await
            .expect("entered");
    }
    (queue, shelf)
}

pub(super) fn promoter(scene: &Fixture, backup: Arc<SlowBackup>) -> Arc<Promoter> {
    Arc::new(Promoter::new(
        scene.line.clone(),
        backup,
        SettingsPolicy::default(),
    ))
}

#[tokio::test]
async fn slow_backup_does_not_delay_promotion() {
    const QUEUES: u32 = 60;
    let scene = Fixture::new(paced_line());
    let mut queues = Vec::new();
    for number in 0..QUEUES {
        queues.push(
            queue_with_waiting_visitors(&scene, &format!("q{number}"), 20)
                .await
                .0,
        );
    }
    let slow = SlowBackup::new(&scene, Duration::from_secs(20));
    tokio::time::pause();
    let started = Instant::now();
    promoter(&scene, slow.clone())
        .run(sleep(Duration::from_millis(15_500)))
        .await;
    assert!(
        started.elapsed() < Duration::from_secs(18),
        "the last drains are bounded"
    );
    for queue in queues {
        let promoted = scene.line.queue_view(&queue).await.expect("seen").totals.promoted;
        assert!(promoted >= 13, "{queue}: {promoted} of 15");
    }
    let most = slow.writing_max.load(Ordering::SeqCst);
    assert!(
        (2..=16).contains(&most),
        "drains go side by side, within a bound: {most}"
    );
}

#[tokio::test]
async fn slow_record_is_written_and_flushes_never_overlap() {
    let scene = Fixture::new(paced_line());
    let (queue, _) = queue_with_waiting_visitors(&scene, "q", 4).await;
    let slow = SlowBackup::new(&scene, Duration::from_secs(27));
    tokio::time::pause();
    promoter(&scene, slow.clone())
        .run(sleep(Duration::from_mins(3)))
        .await;
    let view = scene.line.queue_view(&queue).await.expect("seen");
    assert_eq!((view.totals.promoted, view.journal_len), (3, 0));
    assert_eq!(slow.writing_max.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn flush_ends_only_between_batches() {
    let scene = Fixture::new(paced_line());
    let (queue, shelf) = scene.create_queue("q", json!({})).await;
    let change = scene.enter_unwritten(&queue, "a").await;
    // All records belong to one entry, so no two of them may be in the same batch.
    for _ in 0..4 {
        scene
            .line
            .append_to_journal(&queue, &change)
            .await
            .expect("recorded");
    }
    tokio::time::pause();
    let slow = SlowBackup::new(&scene, Duration::from_secs(5));
    let drained = async |time: u64| {
        let until = Instant::now() + Duration::from_secs(time);
        flush_journal(&*scene.line, &*slow, &shelf, 100, until).await
    };
    assert_eq!(drained(0).await.expect("drained").records, 1, "always the first");
    assert_eq!(drained(7).await.expect("drained").records, 2);
    let hangs = SlowBackup::new(&scene, Duration::from_hours(1));
    let error = flush_journal(&*scene.line, &*hangs, &shelf, 100, Instant::now()).await;
    assert!(error.expect_err("given up").to_string().contains("30s"));
    assert_eq!(scene.line.queue_view(&queue).await.expect("seen").journal_len, 1);
}
