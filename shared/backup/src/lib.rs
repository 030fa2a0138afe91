//! The durable backup: the record of every entry and the settings of every queue. Two backups ship, held to one
//! conformance suite: [`dynamodb`] for every deployment and [`file`](mod@file) for one process on a laptop.
//!
//! [`write_through`](mod@write_through) and, for who enters, [`place`](mod@place) write what a visitor did before it is
//! acknowledged, [`drain`](mod@drain) what the promoter did, and [`aside`] later what the backup refused;
//! [`restore`](mod@restore) brings a line back that was lost, and [`revive`](mod@revive) a single entry;
//! [`check`](mod@check) compares the two and mends; [`outlasted`](mod@outlasted) sees to ends that do not count, [`over`](mod@over)
//! to those that the line lost.
//!
//! No visitor id ever reaches it: an entry is known by its token alone.

pub mod each;
mod lease;
mod stored;

use async_trait::async_trait;
use serde_json::{Map, Value};
use tokio::time::Instant;
use uuid::Uuid;
use vestibule_domain::{
    change::Change,
    id::{EntryId, QueueId, Salt},
    record::Record,
    settings::Settings,
};
use vestibule_line::Configuration;

pub use self::{
    lease::{LEASE, Lease, Leased, PLAUSIBLE_MS},
    stored::{StoredSettings, fingerprint, revision},
};

/// Why a backup gave no answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum BackupError {
    /// It cannot be reached, or did not answer in time. Whether it wrote is not known.
    #[error("the backup cannot be reached: {0}")]
    Unavailable(String),
    /// It has more to do than it can, and says so: the same may be asked again in a moment.
    #[error("the backup throttles: {0}")]
    Throttled(String),
    /// It holds something that is no record of ours.
    #[error("the backup holds what it should not: {0}")]
    Nonsense(String),
}

/// The shelf on which the entries of one generation of one queue stand.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Shelf {
    /// The queue.
    pub queue: QueueId,
    /// Its generation: a reset starts a new one and leaves the old one to its time to live.
    pub generation: u32,
    /// How long the record of an entry that is gone is kept.
    pub retain_hours: u32,
    /// How long after missing the turn a visitor who enters again is given the old place.
    pub grace_seconds: u32,
}

impl Shelf {
    /// The shelf of the generation that a configuration is of.
    pub fn of(queue: &QueueId, configuration: &Configuration) -> Self {
        Self {
            queue: queue.clone(),
            generation: configuration.generation,
            retain_hours: configuration.settings.retain_hours,
            grace_seconds: configuration.settings.grace_seconds,
        }
    }
}

/// What became of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Written {
    /// The record now stands like this.
    Stored(Record),
    /// The record shows this change or a later one already.
    Older,
    /// The record knows better: the visit is over, or another one stands there that is not, and began no earlier as far as
    /// anybody knows. The line that made the change had lost that.
    Overruled,
}

impl Written {
    /// Of a change that the record outlasts.
    pub fn passed_over(standing: Option<&Record>, change: &Change) -> Self {
        match standing {
            Some(record) if record.version < change.version && record.overrules(change) => Self::Overruled,
            _ => Self::Older,
        }
    }
}

/// What became of writing a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Placing {
    /// Nothing was in its way.
    Written(Written),
    /// Another visit stands there that is not over: nothing was written. Or one that was, of a visitor who had missed the turn
    /// and came back in time: it goes on at its old place, and that was written instead.
    Taken(Record),
}

impl Placing {
    /// Of a record that was [given back its place](Record::come_back) for this change.
    pub fn given_back(record: Record, change: &Change) -> Self {
        if record.visit == change.event.visit() {
            Self::Written(Written::Stored(record))
        } else {
            Self::Taken(record)
        }
    }
}

/// The part of a queue's record that is Vestibule's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinePart {
    /// Goes up at each restore.
    pub epoch: u32,
    /// Goes up at each reset.
    pub generation: u32,
    /// The lowest epoch of which passes count: that of the last reset.
    pub min_epoch: u32,
    /// Of this generation.
    pub salt: Salt,
    /// The line has shown a mark as high as this: one that shows a lower one has come back old.
    pub fence: u64,
    /// Who is putting the queue back, where somebody is.
    pub lease: Option<Lease>,
}

impl LinePart {
    /// That of a new queue.
    pub fn new(salt: Salt) -> Self {
        Self {
            epoch: 1,
            generation: 1,
            min_epoch: 1,
            salt,
            fence: 0,
            lease: None,
        }
    }

    /// That of the generation after it.
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

/// A queue as the backup holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredQueue {
    /// The settings as they were last written.
    pub settings: StoredSettings,
    /// Goes up with each [`Backup::replace_settings`]; a change by hand leaves it alone. Of two readings of the settings
    /// the one with the higher number is the later one.
    pub settings_order: u64,
    /// What is Vestibule's own.
    pub line: LinePart,
}

impl StoredQueue {
    /// What to set the line up with, with these settings.
    pub fn configuration(&self, settings: Settings) -> Configuration {
        let part = &self.line;
        Configuration {
            revision: revision(&settings),
            settings,
            settings_order: self.settings_order,
            epoch: part.epoch,
            generation: part.generation,
            min_epoch: part.min_epoch,
            salt: part.salt,
        }
    }
}

/// The durable record of everything. Writes are acknowledged when they would survive a crash.
#[async_trait]
pub trait Backup: Send + Sync + 'static {
    /// Writes one change, unless the record shows it or a later one already.
    async fn write(&self, shelf: &Shelf, change: &Change) -> Result<Written, BackupError>;

    /// Writes a change of somebody who entered, as [`write`](Self::write) does, unless another visit of theirs stands there
    /// that is not over. Where they missed their turn and [come back](Record::come_back) in time, the old place is written
    /// instead.
    async fn write_place(&self, shelf: &Shelf, change: &Change) -> Result<Placing, BackupError>;

    /// Writes changes of different entries, in any order, and says of each what came of it. It never asks more of the backup
    /// than that takes: what is [throttled](BackupError::Throttled) is written again after a pause, and after `until` nothing
    /// is begun.
    async fn write_each(
        &self,
        shelf: &Shelf,
        changes: &[Change],
        until: Instant,
    ) -> Vec<Result<Written, BackupError>> {
        each::each(changes, until, |change| self.write(shelf, change)).await
    }

    /// Whether the backup takes writes of entries at the moment: then one that it refuses is at fault itself.
    async fn takes_writes(&self, _shelf: &Shelf) -> Result<(), BackupError> {
        self.ping().await
    }

    /// The record of one entry, as of the last acknowledged write.
    async fn entry(&self, shelf: &Shelf, id: EntryId) -> Result<Option<Record>, BackupError>;

    /// The entries of one of the [`SHARDS`](vestibule_domain::id::SHARDS) that are not gone, as of the last acknowledged
    /// write. One that makes no sense is passed over, and named in the log.
    async fn live_entries(&self, shelf: &Shelf, shard: u8) -> Result<Vec<Record>, BackupError>;

    /// One queue; `None` where there is none.
    async fn queue(&self, queue: &QueueId) -> Result<Option<StoredQueue>, BackupError>;

    /// Every queue there is.
    async fn queues(&self) -> Result<Vec<QueueId>, BackupError>;

    /// Adds a queue; `false`, and nothing written, where there is one of that id.
    async fn create_queue(&self, queue: &QueueId, stored: &StoredQueue) -> Result<bool, BackupError>;

    /// Replaces the settings of a queue and answers with their order, one more than before; `None`, and nothing
    /// written, where they are not `expected` any more. Where they are `settings` already it answers with the order that
    /// they have: an attempt whose answer was lost may be made again.
    async fn replace_settings(
        &self,
        queue: &QueueId,
        expected: &StoredSettings,
        settings: &Map<String, Value>,
    ) -> Result<Option<u64>, BackupError>;

    /// Takes the lease of a queue of this epoch, which raises the epoch by one; refused while another lease lasts past
    /// `now_ms`. Said again with the same lease it answers as before.
    async fn take_lease(
        &self,
        queue: &QueueId,
        epoch: u32,
        lease: Lease,
        now_ms: u64,
    ) -> Result<Leased, BackupError>;

    /// Makes a lease of this epoch last longer; `false` where it is not the holder's any more.
    async fn renew_lease(&self, queue: &QueueId, epoch: u32, lease: Lease) -> Result<bool, BackupError>;

    /// Ends a lease of this epoch, where it is the holder's.
    async fn release_lease(&self, queue: &QueueId, epoch: u32, holder: Uuid) -> Result<(), BackupError>;

    /// Notes that the line of this epoch has shown a mark so high; a lower one than before changes nothing.
    async fn raise_fence(&self, queue: &QueueId, epoch: u32, fence: u64) -> Result<(), BackupError>;

    /// Begins a new generation of a queue of this epoch: the next epoch, the first of which passes count, and a new salt.
    /// Any lease ends. `None`, and nothing changed, where the epoch is not what it was. Said again with the same salt it
    /// answers as before.
    async fn begin_generation(
        &self,
        queue: &QueueId,
        epoch: u32,
        salt: Salt,
    ) -> Result<Option<LinePart>, BackupError>;

    /// Whether the backup answers at all.
    async fn ping(&self) -> Result<(), BackupError>;
}
