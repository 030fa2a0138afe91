//! The port to the durable backup: the record of every entry and the settings of every queue.
//! Vestibule ships two implementations of the trait [`Backup`]: `vestibule-backup-dynamodb` for
//! every deployment, and `vestibule-backup-file` for one process on a laptop. One conformance suite
//! tests both.
//!
//! The backup never receives a visitor id: it knows an entry by its token alone.

mod backup_error;
mod entry_page;
mod entry_partition;
mod lease;
mod lease_outcome;
mod operator_order;
mod put_outcome;
mod queue_fingerprint;
mod queue_listing;
mod queue_lookup;
mod settings_revision;
mod stored_defaults;
mod stored_outbox;
mod stored_queue;
mod stored_settings;
pub mod throttled_writes;

use async_trait::async_trait;
use serde_json::{Map, Value};
use tokio::time::Instant;
use uuid::Uuid;
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

pub use vestibule_domain::operator_order::OperatorOrder;

pub use self::{
    backup_error::BackupError,
    entry_page::EntryPage,
    entry_partition::EntryPartition,
    lease::{LEASE_DURATION, LEASE_PLAUSIBLE_MAX_MS, Lease},
    lease_outcome::LeaseOutcome,
    operator_order::{ORDERS_KEPT, OrderLog, REPORT_RETAIN_MS},
    put_outcome::PutOutcome,
    queue_fingerprint::QueueFingerprint,
    queue_listing::QueueListing,
    queue_lookup::QueueLookup,
    settings_revision::{SettingsRevision, changed_settings},
    stored_defaults::StoredDefaults,
    stored_outbox::StoredOutbox,
    stored_queue::{QueueMetadata, StoredQueue},
    stored_settings::{StoredSettings, json_fingerprint},
};

/// The durable record of every entry and queue. An implementation acknowledges a write only once
/// the write survives a crash.
#[async_trait]
pub trait Backup: Send + Sync + 'static {
    /// Writes one change if its fact is greater than that of the record, as
    /// [`decide_put`](EntryRecord::decide_put) decides.
    async fn put_change(
        &self,
        partition: &EntryPartition,
        change: &Change,
    ) -> Result<PutOutcome, BackupError>;

    /// Writes changes of one entry as if one after the other, and returns one outcome for each.
    /// Several changes are stored by one write, so the backup gets the greatest fact, and the place
    /// and times that only the lesser ones have.
    async fn put_entry_changes(
        &self,
        partition: &EntryPartition,
        changes: &[Change],
    ) -> Result<Vec<PutOutcome>, BackupError>;

    /// Writes changes, and returns one outcome for each. The changes of one entry are in their
    /// order, and are [stored together](Self::put_entry_changes). The number of concurrent writes
    /// adapts to what the backup accepts: a [throttled](BackupError::Throttled) write is repeated
    /// after a pause. No write begins after `until`.
    async fn put_changes(
        &self,
        partition: &EntryPartition,
        changes: &[Change],
        until: Instant,
    ) -> Vec<Result<PutOutcome, BackupError>> {
        let write = |changes: Vec<Change>| async move { self.put_entry_changes(partition, &changes).await };
        throttled_writes::write_throttled(changes, until, write).await
    }

    /// Whether the backup accepts writes of entries at the moment. If it does, a write that it
    /// refuses is itself at fault.
    async fn probe_writes(&self, _shelf: &EntryPartition) -> Result<(), BackupError> {
        self.ping().await
    }

    /// The record of one entry, as of the last acknowledged write.
    async fn read_entry(
        &self,
        partition: &EntryPartition,
        id: EntryId,
    ) -> Result<Option<EntryRecord>, BackupError>;

    /// The entries of one of the [`SHARD_COUNT`](vestibule_domain::id::SHARD_COUNT) that are live, or
    /// whose slot is still held at `now_ms` (Unix milliseconds), as of the last acknowledged write. An
    /// implementation may skip a record that it cannot read, and then logs it.
    async fn read_live_entries(
        &self,
        partition: &EntryPartition,
        shard: u8,
        now_ms: u64,
    ) -> Result<Vec<EntryRecord>, BackupError>;

    /// The entries of one of the [`SHARD_COUNT`](vestibule_domain::id::SHARD_COUNT), live or ended, perhaps as of a
    /// second ago. An implementation may skip a record that it cannot read, and then logs it.
    async fn read_recent_entries(
        &self,
        partition: &EntryPartition,
        shard: u8,
    ) -> Result<Vec<EntryRecord>, BackupError>;

    /// Some entries of one shard in the order of their ids, live or ended: at most `records_max` behind the entry `after`,
    /// as of the last acknowledged write. An implementation may skip a record that it cannot read, and then logs it.
    async fn read_entry_page(
        &self,
        partition: &EntryPartition,
        shard: u8,
        after: Option<EntryId>,
        records_max: usize,
    ) -> Result<EntryPage, BackupError>;

    /// Stores the tally of a queue and generation, if it [supersedes](TallySnapshot::supersedes) the stored one. Returns
    /// whether it does. It stays for [`REPORT_RETAIN_MS`] after the last call, even if the queue is deleted.
    async fn store_tally(&self, queue: &QueueId, snapshot: &TallySnapshot) -> Result<bool, BackupError>;

    /// The stored tally of a queue of this generation, or of the last generation that has one.
    async fn read_tally(
        &self,
        queue: &QueueId,
        generation: Option<u32>,
    ) -> Result<Option<TallySnapshot>, BackupError>;

    /// Adds an order to the log of a queue, which keeps the last [`ORDERS_KEPT`] of them for [`REPORT_RETAIN_MS`]. A
    /// repeated call adds it again.
    async fn record_order(&self, queue: &QueueId, order: &OperatorOrder) -> Result<(), BackupError>;

    /// The log of the orders that a queue got. It goes on through resets.
    async fn read_orders(&self, queue: &QueueId) -> Result<OrderLog, BackupError>;

    /// The outbox of the events of a queue, as of the last acknowledged write.
    async fn read_outbox(&self, queue: &QueueId) -> Result<Option<StoredOutbox>, BackupError>;

    /// Replaces the outbox of a queue if it still has this revision (compare-and-swap), which is 0 if there is none.
    /// Returns whether it had. The stored one has the next revision. It stays for [`REPORT_RETAIN_MS`] after `now_ms`, in
    /// Unix milliseconds, even if the queue is deleted.
    async fn replace_outbox(
        &self,
        queue: &QueueId,
        expected_revision: u64,
        outbox: &EventOutbox,
        now_ms: u64,
    ) -> Result<bool, BackupError>;

    /// One queue, as of the last acknowledged write.
    async fn look_up_queue(&self, queue: &QueueId) -> Result<QueueLookup, BackupError>;

    /// One queue; `None` if the backup does not have it, or it was deleted.
    async fn read_queue(&self, queue: &QueueId) -> Result<Option<StoredQueue>, BackupError> {
        Ok(self.look_up_queue(queue).await?.into_stored())
    }

    /// The ids of all queues, without those that were deleted.
    async fn list_queues(&self) -> Result<Vec<QueueId>, BackupError> {
        let listed = self.list_all_queues().await?.queues;
        Ok(listed.into_iter().map(|(queue, _)| queue).collect())
    }

    /// All queues, and all that were deleted.
    async fn list_all_queues(&self) -> Result<QueueListing, BackupError>;

    /// The defaults of all patterns, as of the last acknowledged write. They are not validated: an operator
    /// may have written them by hand.
    async fn list_defaults(&self) -> Result<Vec<StoredDefaults>, BackupError>;

    /// Stores the defaults of a pattern and replaces the ones before. `None` removes them. Returns whether
    /// the pattern had defaults.
    async fn replace_defaults(
        &self,
        pattern: &QueuePattern,
        settings: Option<&Map<String, Value>>,
    ) -> Result<bool, BackupError>;

    /// Adds a queue, and removes the tombstone of a deleted one. Returns `false`, and writes nothing, if a queue of that
    /// id exists, or was deleted in the epoch or the generation of the new one or in a later one.
    async fn create_queue(&self, queue: &QueueId, stored: &StoredQueue) -> Result<bool, BackupError>;

    /// Replaces a queue of this epoch by its tombstone, with its settings. Entries stay until their time to live
    /// ends, and so does whatever else is stored under the id. Returns `false`, and changes nothing, if the queue has
    /// another epoch or does not exist. The call is idempotent: repeated with the same tombstone it returns the same
    /// answer.
    async fn delete_queue(
        &self,
        queue: &QueueId,
        epoch: u32,
        tombstone: &Tombstone,
    ) -> Result<bool, BackupError>;

    /// Adds the tombstone of a queue whose items were deleted by hand. Returns `false`, and writes nothing, if the
    /// backup has anything of the queue. The call is idempotent.
    async fn add_tombstone(&self, queue: &QueueId, tombstone: &Tombstone) -> Result<bool, BackupError>;

    /// Replaces the settings of a queue if they still are `expected` (compare-and-swap), and
    /// returns their order number, one more than before. Returns `None`, and writes nothing, if
    /// they are not `expected` any more. If they already are `settings`, the call returns the order
    /// number that they have. So it is idempotent: an attempt whose answer was lost may be
    /// repeated.
    async fn replace_settings(
        &self,
        queue: &QueueId,
        expected: &StoredSettings,
        settings: &Map<String, Value>,
    ) -> Result<Option<u64>, BackupError>;

    /// Takes the restore lease of a queue of this epoch, and raises the epoch by one. The backup
    /// refuses while another lease lasts past `now_ms`, in Unix milliseconds. The call is
    /// idempotent: repeated with the same lease it returns the same answer.
    async fn take_lease(
        &self,
        queue: &QueueId,
        epoch: u32,
        lease: Lease,
        now_ms: u64,
    ) -> Result<LeaseOutcome, BackupError>;

    /// Extends a lease of this epoch. Returns `false` if the caller does not hold it any more.
    async fn renew_lease(&self, queue: &QueueId, epoch: u32, lease: Lease) -> Result<bool, BackupError>;

    /// Releases a lease of this epoch if `holder` holds it.
    async fn release_lease(&self, queue: &QueueId, epoch: u32, holder: Uuid) -> Result<(), BackupError>;

    /// Raises the stored watermark of a queue of this epoch. A value that is not higher than the
    /// stored one changes nothing.
    async fn raise_watermark(&self, queue: &QueueId, epoch: u32, fence: u64) -> Result<(), BackupError>;

    /// Records when a queue of this epoch opened, in Unix milliseconds, unless that is recorded already.
    async fn record_opening(&self, queue: &QueueId, epoch: u32, opened_at_ms: u64)
    -> Result<(), BackupError>;

    /// Replaces the kept times of a queue of this epoch if they are as expected. Returns whether they were, or are replaced
    /// already.
    async fn replace_kept_times(
        &self,
        queue: &QueueId,
        epoch: u32,
        expected: KeptTimes,
        kept: KeptTimes,
    ) -> Result<bool, BackupError>;

    /// Records the root key with which the salt of a queue of this epoch is used, unless that is recorded already.
    async fn record_root_key(
        &self,
        queue: &QueueId,
        epoch: u32,
        root: RootFingerprint,
    ) -> Result<(), BackupError>;

    /// Begins a new generation of a queue of this epoch: a new salt, and the next epoch, which is
    /// the first whose passes are valid. Any lease ends. Returns `None`, and changes nothing, if
    /// the epoch is a different one. The call is idempotent: repeated with the same salt it returns
    /// the same answer.
    async fn begin_generation(
        &self,
        queue: &QueueId,
        epoch: u32,
        salt: Salt,
    ) -> Result<Option<QueueMetadata>, BackupError>;

    /// Whether the backup answers at all.
    async fn ping(&self) -> Result<(), BackupError>;
}
