//! The durable backup: the record of every entry and the settings of every queue. Vestibule ships two implementations
//! of the trait [`Backup`]: [`dynamodb`] for every deployment, and [`file`](mod@file) for one process on a laptop. One
//! conformance suite tests both.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`write_through`](mod@write_through) | writes what a visitor did before the answer goes out |
//! | [`place`](mod@place) | the same for the place of a visitor who enters |
//! | [`drain`](mod@drain) | flushes the journal (the outbox of the line), which holds what the promoter did |
//! | [`aside`] | keeps and retries dead letters: changes that the backup refuses |
//! | [`restore`](mod@restore) | restores a queue that the line lost |
//! | [`revive`](mod@revive) | restores a single entry that the line lost |
//! | [`check`](mod@check) | the consistency check: compares line and backup, and repairs differences |
//! | [`outlasted`](mod@outlasted) | resolves a stale end: one that the line remembers and a later record supersedes |
//! | [`over`](mod@over) | removes an entry from the line whose end the line lost |
//!
//! The backup never receives a visitor id: it knows an entry by its token alone.

mod lease;
mod stored_settings;
pub mod throttled_writes;

use async_trait::async_trait;
use serde_json::{Map, Value};
use tokio::time::Instant;
use uuid::Uuid;
use vestibule_domain::{
    change::Change,
    configuration::Configuration,
    id::{EntryId, QueueId, Salt},
    record::EntryRecord,
    settings::Settings,
};

pub use self::{
    lease::{LEASE_DURATION, LEASE_PLAUSIBLE_MAX_MS, Lease, LeaseOutcome},
    stored_settings::{StoredSettings, json_fingerprint, settings_revision},
};

/// Why a call to the backup failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum BackupError {
    /// The backup cannot be reached, or did not answer in time. The caller does not know whether the write happened.
    #[error("the backup is unavailable: {0}")]
    Unavailable(String),
    /// The backup throttles: it received more requests than it can serve. The caller may repeat the request in a
    /// moment.
    #[error("the backup throttles requests: {0}")]
    Throttled(String),
    /// The backup holds data that is not a valid record, for example after an edit by hand.
    #[error("the backup holds a record that cannot be read: {0}")]
    Unreadable(String),
}

/// The partition of the backup that holds the entries of one generation of one queue.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct EntryPartition {
    /// The queue.
    pub queue: QueueId,
    /// The generation of the queue. A reset starts a new generation; the time to live deletes the old one.
    pub generation: u32,
    /// How long the backup keeps the record of an ended entry, in hours.
    pub retain_hours: u32,
    /// The grace, in seconds: a visitor who missed the turn and enters again within it gets the old place.
    pub grace_seconds: u32,
}

impl EntryPartition {
    /// The partition for the generation of this configuration.
    pub fn from_configuration(queue: &QueueId, configuration: &Configuration) -> Self {
        Self {
            queue: queue.clone(),
            generation: configuration.generation,
            retain_hours: configuration.settings.retain_hours,
            grace_seconds: configuration.settings.grace_seconds,
        }
    }
}

/// The outcome of a conditional write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PutOutcome {
    /// The backup stored the change. This is the record after the write.
    Stored(EntryRecord),
    /// The backup wrote nothing: the record already shows this change or a later one.
    Superseded,
    /// The backup wrote nothing: the change conflicts with the record. The record shows that the visit has ended, or it
    /// shows another live visit that did not begin earlier as far as can be known. The line that made the change had
    /// lost that state.
    Conflicting,
}

impl PutOutcome {
    /// The outcome for a change that the record supersedes.
    pub fn for_superseded(stored: Option<&EntryRecord>, change: &Change) -> Self {
        match stored {
            Some(record) if record.version < change.version && record.conflicts_with(change) => {
                Self::Conflicting
            }
            _ => Self::Superseded,
        }
    }
}

/// The outcome of writing the place of a visitor who enters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlacePutOutcome {
    /// No other visit was in the way. The outcome is that of the write.
    Put(PutOutcome),
    /// Another visit of the entry is live, and the backup wrote nothing. Or the visitor missed the turn and returned
    /// within the grace: the earlier visit continues at its old place, and the backup wrote that place instead.
    Conflict(EntryRecord),
}

impl PlacePutOutcome {
    /// The outcome for a record whose old place this change [restored](EntryRecord::come_back).
    pub fn for_restored_place(record: EntryRecord, change: &Change) -> Self {
        if record.visit == change.event.visit() {
            Self::Put(PutOutcome::Stored(record))
        } else {
            Self::Conflict(record)
        }
    }
}

/// Vestibule's own metadata of a queue. Operators edit the settings, not this.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueMetadata {
    /// Rises by one at each restore and at each reset.
    pub epoch: u32,
    /// Rises by one at each reset.
    pub generation: u32,
    /// The lowest epoch whose passes are valid: the epoch of the last reset.
    pub min_epoch: u32,
    /// The salt of this generation. Entry ids are derived with it.
    pub salt: Salt,
    /// The highest watermark that the line of this queue has shown. A line that shows a lower one has restarted with
    /// stale data.
    pub watermark: u64,
    /// The lease of the process that restores the queue at the moment; `None` if no restore is under way.
    pub lease: Option<Lease>,
}

impl QueueMetadata {
    /// The metadata of a new queue.
    pub fn new(salt: Salt) -> Self {
        Self {
            epoch: 1,
            generation: 1,
            min_epoch: 1,
            salt,
            watermark: 0,
            lease: None,
        }
    }

    /// The metadata after a reset: the next epoch and the next generation, with a new salt and without a lease.
    #[must_use]
    pub fn next_generation(self, salt: Salt) -> Self {
        Self {
            epoch: self.epoch + 1,
            generation: self.generation + 1,
            min_epoch: self.epoch + 1,
            salt,
            lease: None,
            ..self
        }
    }
}

/// A queue as the backup stores it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredQueue {
    /// The settings as last written, valid or not.
    pub settings: StoredSettings,
    /// Rises by one with each [`Backup::replace_settings`]; an edit by hand does not change it. Of two reads of the
    /// settings, the one with the higher number is later.
    pub settings_order: u64,
    /// Vestibule's own metadata.
    pub metadata: QueueMetadata,
}

impl StoredQueue {
    /// The configuration to put in force in the line, with these settings.
    pub fn configuration(&self, settings: Settings) -> Configuration {
        let part = &self.metadata;
        Configuration {
            revision: settings_revision(&settings),
            settings,
            settings_order: self.settings_order,
            epoch: part.epoch,
            generation: part.generation,
            min_epoch: part.min_epoch,
            salt: part.salt,
        }
    }
}

/// The durable record of every entry and queue. An implementation acknowledges a write only once the write survives a
/// crash.
#[async_trait]
pub trait Backup: Send + Sync + 'static {
    /// Writes one change, unless the record already shows it or a later one.
    async fn put_change(&self, shelf: &EntryPartition, change: &Change) -> Result<PutOutcome, BackupError>;

    /// Writes the change of a visitor who entered, as [`write`](Self::write) does, unless another visit of the entry is
    /// live. If the visitor missed the turn and [returns](EntryRecord::come_back) within the grace, this writes the old
    /// place instead.
    async fn put_place(
        &self,
        shelf: &EntryPartition,
        change: &Change,
    ) -> Result<PlacePutOutcome, BackupError>;

    /// Writes changes of different entries, in any order, and returns one outcome for each. The number of concurrent
    /// writes adapts to what the backup accepts: a [throttled](BackupError::Throttled) write is repeated after a pause.
    /// No write begins after `until`.
    async fn put_changes(
        &self,
        shelf: &EntryPartition,
        changes: &[Change],
        until: Instant,
    ) -> Vec<Result<PutOutcome, BackupError>> {
        throttled_writes::write_throttled(changes, until, |change| self.put_change(shelf, change)).await
    }

    /// Whether the backup accepts writes of entries at the moment. If it does, a write that it refuses is itself at
    /// fault.
    async fn probe_writes(&self, _shelf: &EntryPartition) -> Result<(), BackupError> {
        self.ping().await
    }

    /// The record of one entry, as of the last acknowledged write.
    async fn read_entry(
        &self,
        shelf: &EntryPartition,
        id: EntryId,
    ) -> Result<Option<EntryRecord>, BackupError>;

    /// The live entries of one of the [`SHARD_COUNT`](vestibule_domain::id::SHARD_COUNT), as of the last acknowledged write. An
    /// implementation may skip a record that it cannot read, and then logs it.
    async fn read_live_entries(
        &self,
        shelf: &EntryPartition,
        shard: u8,
    ) -> Result<Vec<EntryRecord>, BackupError>;

    /// One queue; `None` if the backup does not have it.
    async fn read_queue(&self, queue: &QueueId) -> Result<Option<StoredQueue>, BackupError>;

    /// The ids of all queues.
    async fn list_queues(&self) -> Result<Vec<QueueId>, BackupError>;

    /// Adds a queue. Returns `false`, and writes nothing, if a queue of that id exists.
    async fn create_queue(&self, queue: &QueueId, stored: &StoredQueue) -> Result<bool, BackupError>;

    /// Replaces the settings of a queue if they still are `expected` (compare-and-swap), and returns their order
    /// number, one more than before. Returns `None`, and writes nothing, if they are not `expected` any more. If they
    /// already are `settings`, the call returns the order number that they have. So it is idempotent: an attempt whose
    /// answer was lost may be repeated.
    async fn replace_settings(
        &self,
        queue: &QueueId,
        expected: &StoredSettings,
        settings: &Map<String, Value>,
    ) -> Result<Option<u64>, BackupError>;

    /// Takes the restore lease of a queue of this epoch, and raises the epoch by one. The backup refuses while another
    /// lease lasts past `now_ms`, in Unix milliseconds. The call is idempotent: repeated with the same lease it returns
    /// the same answer.
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

    /// Raises the stored watermark of a queue of this epoch. A value that is not higher than the stored one changes
    /// nothing.
    async fn raise_watermark(&self, queue: &QueueId, epoch: u32, fence: u64) -> Result<(), BackupError>;

    /// Begins a new generation of a queue of this epoch: a new salt, and the next epoch, which is the first whose
    /// passes are valid. Any lease ends. Returns `None`, and changes nothing, if the epoch is a different one. The call
    /// is idempotent: repeated with the same salt it returns the same answer.
    async fn begin_generation(
        &self,
        queue: &QueueId,
        epoch: u32,
        salt: Salt,
    ) -> Result<Option<QueueMetadata>, BackupError>;

    /// Whether the backup answers at all.
    async fn ping(&self) -> Result<(), BackupError>;
}
