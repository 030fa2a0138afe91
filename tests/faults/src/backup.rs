//! A backup with injected faults.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Map, Value};
use tokio::time::Instant;
use uuid::Uuid;
use vestibule_backup::{
    Backup, BackupError, EntryPage, EntryPartition, Lease, LeaseOutcome, OperatorOrder, OrderLog, PutOutcome,
    QueueListing, QueueLookup, QueueMetadata, StoredDefaults, StoredOutbox, StoredQueue, StoredSettings,
    throttled_writes::write_throttled,
};
use vestibule_domain::{
    change::Change,
    event_outbox::EventOutbox,
    id::{EntryId, QueueId, RootFingerprint, Salt},
    kept_times::KeptTimes,
    queue_pattern::QueuePattern,
    record::EntryRecord,
    tally::TallySnapshot,
    tombstone::Tombstone,
};

use crate::{Fault, Faults};

/// Decorates a backup with [`Faults`].
pub struct FaultyBackup {
    backup: Arc<dyn Backup>,
    faults: Faults,
}

impl FaultyBackup {
    /// Decorates a backup.
    pub fn new(backup: Arc<dyn Backup>, faults: Faults) -> Arc<Self> {
        Arc::new(Self { backup, faults })
    }

    /// The faults of this backup.
    pub fn faults(&self) -> &Faults {
        &self.faults
    }
}

fn backup_error(fault: Fault) -> BackupError {
    match fault {
        Fault::Unavailable => BackupError::Unavailable("a test made the backup unavailable".to_owned()),
        Fault::Throttled => BackupError::Throttled("a test made the backup throttle".to_owned()),
        Fault::Rejected => BackupError::Unreadable("a test made the backup reject the call".to_owned()),
    }
}

/// Implements operations whose first argument says where the entry or the queue is: each goes through the faults to the
/// real backup.
macro_rules! decorate {
    ($(fn $operation:ident($first:ident: $at:ty $(, $arg:ident: $type:ty)*) -> $answer:ty;)*
     ; $($extra:item)*) => {
        #[async_trait]
        impl Backup for FaultyBackup {
            $(async fn $operation(&self, $first: $at $(, $arg: $type)*) -> Result<$answer, BackupError> {
                let call = self.faults.begin(stringify!($operation), Some(queue_of($first).as_str())).await.map_err(backup_error)?;
                let answer = self.backup.$operation($first $(, $arg)*).await;
                call.end().await.map_err(backup_error)?;
                answer
            })*
            $($extra)*
        }
    };
}

/// The queue that an argument names.
trait NamesQueue {
    fn queue(&self) -> &QueueId;
}

impl NamesQueue for QueueId {
    fn queue(&self) -> &QueueId {
        self
    }
}

impl NamesQueue for EntryPartition {
    fn queue(&self) -> &QueueId {
        &self.queue
    }
}

fn queue_of(named: &impl NamesQueue) -> &QueueId {
    named.queue()
}

decorate! {
    fn probe_writes(partition: &EntryPartition) -> ();
    fn read_entry(partition: &EntryPartition, id: EntryId) -> Option<EntryRecord>;
    fn read_live_entries(partition: &EntryPartition, shard: u8, now_ms: u64) -> Vec<EntryRecord>;
    fn read_recent_entries(partition: &EntryPartition, shard: u8) -> Vec<EntryRecord>;
    fn read_entry_page(partition: &EntryPartition, shard: u8, after: Option<EntryId>, records_max: usize) -> EntryPage;
    fn store_tally(queue: &QueueId, snapshot: &TallySnapshot) -> bool;
    fn read_tally(queue: &QueueId, generation: Option<u32>) -> Option<TallySnapshot>;
    fn record_order(queue: &QueueId, order: &OperatorOrder) -> ();
    fn read_orders(queue: &QueueId) -> OrderLog;
    fn read_outbox(queue: &QueueId) -> Option<StoredOutbox>;
    fn replace_outbox(queue: &QueueId, expected_revision: u64, outbox: &EventOutbox, now_ms: u64) -> bool;
    fn create_queue(queue: &QueueId, stored: &StoredQueue) -> bool;
    fn delete_queue(queue: &QueueId, epoch: u32, tombstone: &Tombstone) -> bool;
    fn add_tombstone(queue: &QueueId, tombstone: &Tombstone) -> bool;
    fn replace_settings(queue: &QueueId, expected: &StoredSettings, settings: &Map<String, Value>) -> Option<u64>;
    fn take_lease(queue: &QueueId, epoch: u32, lease: Lease, now_ms: u64) -> LeaseOutcome;
    fn renew_lease(queue: &QueueId, epoch: u32, lease: Lease) -> bool;
    fn release_lease(queue: &QueueId, epoch: u32, holder: Uuid) -> ();
    fn raise_watermark(queue: &QueueId, epoch: u32, fence: u64) -> ();
    fn record_opening(queue: &QueueId, epoch: u32, opened_at_ms: u64) -> ();
    fn replace_kept_times(queue: &QueueId, epoch: u32, expected: KeptTimes, kept: KeptTimes) -> bool;
    fn record_root_key(queue: &QueueId, epoch: u32, root: RootFingerprint) -> ();
    fn begin_generation(queue: &QueueId, epoch: u32, salt: Salt) -> Option<QueueMetadata>;
    ;
    async fn put_change(&self, partition: &EntryPartition, change: &Change) -> Result<PutOutcome, BackupError> {
        let call = self.faults.begin("put_change", Some(partition.queue.as_str())).await.map_err(backup_error)?;
        self.faults.decide_write(change.id).map_err(backup_error)?;
        let outcome = self.backup.put_change(partition, change).await;
        call.end().await.map_err(backup_error)?;
        outcome
    }

    /// Has the faults of [`put_change`](Backup::put_change), once for all changes.
    async fn put_entry_changes(
        &self,
        partition: &EntryPartition,
        changes: &[Change],
    ) -> Result<Vec<PutOutcome>, BackupError> {
        let call = self.faults.begin("put_change", Some(partition.queue.as_str())).await.map_err(backup_error)?;
        if let Some(change) = changes.first() {
            self.faults.decide_write(change.id).map_err(backup_error)?;
        }
        let outcome = self.backup.put_entry_changes(partition, changes).await;
        call.end().await.map_err(backup_error)?;
        outcome
    }

    /// Writes the changes of each entry through [`put_entry_changes`](Backup::put_entry_changes), so that its faults
    /// count here too.
    async fn put_changes(
        &self,
        partition: &EntryPartition,
        changes: &[Change],
        until: Instant,
    ) -> Vec<Result<PutOutcome, BackupError>> {
        let call = match self.faults.begin("put_changes", Some(partition.queue.as_str())).await {
            Ok(call) => call,
            Err(fault) => return changes.iter().map(|_| Err(backup_error(fault))).collect(),
        };
        if self.faults.discards_changes() {
            let pretend = |change| PutOutcome::Stored(EntryRecord::of_change(change, partition.put_rules()));
            return changes.iter().map(|change| Ok(pretend(change))).collect();
        }
        let write = |changes: Vec<Change>| async move { self.put_entry_changes(partition, &changes).await };
        let outcomes = write_throttled(changes, until, write).await;
        if let Err(fault) = call.end().await {
            return changes.iter().map(|_| Err(backup_error(fault))).collect();
        }
        outcomes
    }

    /// Has the name `read_queue` among the faults: every read goes through it.
    async fn look_up_queue(&self, queue: &QueueId) -> Result<QueueLookup, BackupError> {
        let call = self.faults.begin("read_queue", Some(queue.as_str())).await.map_err(backup_error)?;
        let found = self.backup.look_up_queue(queue).await;
        call.end().await.map_err(backup_error)?;
        found
    }

    /// Has the name `list_queues` among the faults: every listing goes through it.
    async fn list_all_queues(&self) -> Result<QueueListing, BackupError> {
        self.faults.begin("list_queues", None).await.map_err(backup_error)?;
        self.backup.list_all_queues().await
    }

    async fn list_defaults(&self) -> Result<Vec<StoredDefaults>, BackupError> {
        self.faults.begin("list_defaults", None).await.map_err(backup_error)?;
        self.backup.list_defaults().await
    }

    async fn replace_defaults(
        &self,
        pattern: &QueuePattern,
        settings: Option<&Map<String, Value>>,
    ) -> Result<bool, BackupError> {
        let call = self.faults.begin("replace_defaults", None).await.map_err(backup_error)?;
        let replaced = self.backup.replace_defaults(pattern, settings).await;
        call.end().await.map_err(backup_error)?;
        replaced
    }

    async fn ping(&self) -> Result<(), BackupError> {
        self.faults.begin("ping", None).await.map_err(backup_error)?;
        self.backup.ping().await
    }
}
