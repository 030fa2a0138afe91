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
    Backup, BackupError, Lease, Leased, LinePart, Placing, Shelf, StoredQueue, StoredSettings, Written,
};
use vestibule_backup_file::FileBackup;
use vestibule_domain::{
    change::Change,
    id::{EntryId, QueueId, Salt},
    record::Record,
};
use vestibule_engine::{drain::drain, sync::Policy};
use vestibule_line_memory::MemoryLine;

use super::{Scene, id};
use crate::promoter::Promoter;

/// A test double: a backup that takes the time `record` for each batch of a flush and does not store it.
/// Everything else goes to the file backup.
pub(super) struct Slow {
    backup: Arc<FileBackup>,
    record: Duration,
    /// How many batches are being written now.
    writing: AtomicUsize,
    most: AtomicUsize,
}

impl Slow {
    pub(super) fn new(scene: &Scene, record: Duration) -> Arc<Self> {
        Arc::new(Self {
            backup: scene.backup.clone(),
            record,
            writing: AtomicUsize::new(0),
            most: AtomicUsize::new(0),
        })
    }
}

#[async_trait]
impl Backup for Slow {
    async fn write_each(
        &self,
        _: &Shelf,
        changes: &[Change],
        _: Instant,
    ) -> Vec<Result<Written, BackupError>> {
        let now = self.writing.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        sleep(self.record).await;
        self.writing.fetch_sub(1, Ordering::SeqCst);
        changes.iter().map(|_| Ok(Written::Older)).collect()
    }

    async fn write(&self, shelf: &Shelf, change: &Change) -> Result<Written, BackupError> {
        self.backup.write(shelf, change).await
    }

    async fn write_place(&self, shelf: &Shelf, change: &Change) -> Result<Placing, BackupError> {
        self.backup.write_place(shelf, change).await
    }

    async fn entry(&self, shelf: &Shelf, id: EntryId) -> Result<Option<Record>, BackupError> {
        self.backup.entry(shelf, id).await
    }

    async fn live_entries(&self, shelf: &Shelf, shard: u8) -> Result<Vec<Record>, BackupError> {
        self.backup.live_entries(shelf, shard).await
    }

    async fn queue(&self, queue: &QueueId) -> Result<Option<StoredQueue>, BackupError> {
        self.backup.queue(queue).await
    }

    async fn queues(&self) -> Result<Vec<QueueId>, BackupError> {
        self.backup.queues().await
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
    ) -> Result<Leased, BackupError> {
        self.backup.take_lease(queue, epoch, lease, now_ms).await
    }

    async fn renew_lease(&self, queue: &QueueId, epoch: u32, lease: Lease) -> Result<bool, BackupError> {
        self.backup.renew_lease(queue, epoch, lease).await
    }

    async fn release_lease(&self, queue: &QueueId, epoch: u32, holder: Uuid) -> Result<(), BackupError> {
        self.backup.release_lease(queue, epoch, holder).await
    }

    async fn raise_fence(&self, queue: &QueueId, epoch: u32, fence: u64) -> Result<(), BackupError> {
        self.backup.raise_fence(queue, epoch, fence).await
    }

    async fn begin_generation(
        &self,
        queue: &QueueId,
        epoch: u32,
        salt: Salt,
    ) -> Result<Option<LinePart>, BackupError> {
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
async fn crowded(scene: &Scene, name: &str, visitors: u32) -> (QueueId, Shelf) {
    let pace = json!({ "capacity": 1_000, "batch": 1, "interval_seconds": 1 });
    let (queue, shelf) = scene.queue(name, pace).await;
    for visitor in 0..visitors {
        scene
            .line
            .enter(&queue, id(&queue, &visitor.to_string()))
            .await
            .expect("entered");
    }
    (queue, shelf)
}

pub(super) fn promoter(scene: &Scene, backup: Arc<Slow>) -> Arc<Promoter> {
    Arc::new(Promoter::new(scene.line.clone(), backup, Policy::default()))
}

#[tokio::test]
async fn a_slow_backup_delays_nobodys_turn() {
    const QUEUES: u32 = 60;
    let scene = Scene::new(paced_line());
    let mut queues = Vec::new();
    for number in 0..QUEUES {
        queues.push(crowded(&scene, &format!("q{number}"), 20).await.0);
    }
    let slow = Slow::new(&scene, Duration::from_secs(20));
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
        let promoted = scene.line.view(&queue).await.expect("seen").totals.promoted;
        assert!(promoted >= 13, "{queue}: {promoted} of 15");
    }
    let most = slow.most.load(Ordering::SeqCst);
    assert!(
        (2..=16).contains(&most),
        "drains go side by side, within a bound: {most}"
    );
}

#[tokio::test]
async fn a_record_that_takes_long_gets_there_and_no_queue_is_drained_twice_at_once() {
    let scene = Scene::new(paced_line());
    let (queue, _) = crowded(&scene, "q", 4).await;
    let slow = Slow::new(&scene, Duration::from_secs(27));
    tokio::time::pause();
    promoter(&scene, slow.clone())
        .run(sleep(Duration::from_mins(3)))
        .await;
    let view = scene.line.view(&queue).await.expect("seen");
    assert_eq!((view.totals.promoted, view.journal), (3, 0));
    assert_eq!(slow.most.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_drain_ends_between_batches_never_within_one() {
    let scene = Scene::new(paced_line());
    let (queue, shelf) = scene.queue("q", json!({})).await;
    let change = scene.enter_unwritten(&queue, "a").await;
    // All records belong to one entry, so no two of them may be in the same batch.
    for _ in 0..4 {
        scene.line.record(&queue, &change).await.expect("recorded");
    }
    tokio::time::pause();
    let slow = Slow::new(&scene, Duration::from_secs(5));
    let drained = async |time: u64| {
        let until = Instant::now() + Duration::from_secs(time);
        drain(&*scene.line, &*slow, &shelf, 100, until).await
    };
    assert_eq!(drained(0).await.expect("drained").records, 1, "always the first");
    assert_eq!(drained(7).await.expect("drained").records, 2);
    let hangs = Slow::new(&scene, Duration::from_hours(1));
    let error = drain(&*scene.line, &*hangs, &shelf, 100, Instant::now()).await;
    assert!(error.expect_err("given up").to_string().contains("30s"));
    assert_eq!(scene.line.view(&queue).await.expect("seen").journal, 1);
}
