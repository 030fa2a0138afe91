//! A queue as its line showed it at one moment, and why there may be none.

use std::ops::Deref;

use tokio::time::Instant;
use vestibule_backup::{BackupError, EntryPartition};
use vestibule_domain::{
    configuration::Configuration,
    id::{IdKey, OtherRootKey},
    queue_state::QueueState,
    record::EntryRecord,
    settings::Entrance,
    tombstone::Tombstone,
};

use super::reading::{QueueMoment, QueueReading};

/// What a process keeps of a queue for up to a second: a reading of its line, and when it was made.
#[derive(Debug)]
pub(crate) struct QueueSnapshot {
    reading: QueueReading,
    /// Derives tokens from visitors.
    pub(crate) ids: IdKey,
    /// Read just before the line was asked.
    pub(super) asked_at: Instant,
}

/// A snapshot is a reading to everything that does not depend on its age.
impl Deref for QueueSnapshot {
    type Target = QueueReading;

    fn deref(&self) -> &QueueReading {
        &self.reading
    }
}

impl QueueSnapshot {
    pub(super) fn new(reading: QueueReading, ids: IdKey, asked_at: Instant) -> Self {
        Self {
            reading,
            ids,
            asked_at,
        }
    }

    /// The queue now.
    pub(crate) fn moment(&self) -> QueueMoment<'_> {
        QueueMoment {
            reading: &self.reading,
            age_ms: u64::try_from(self.asked_at.elapsed().as_millis()).unwrap_or(u64::MAX),
        }
    }

    /// The state of the queue now.
    pub(crate) fn queue_state(&self) -> QueueState {
        self.moment().queue_state()
    }

    /// Line time, in Unix milliseconds.
    pub(crate) fn now_ms(&self) -> u64 {
        self.moment().now_ms()
    }

    /// Until when a visitor who missed the turn may enter again at the old place, in Unix milliseconds,
    /// according to the record. `None` if entering now would not give the place back.
    pub(crate) fn grace_until_ms(&self, record: &EntryRecord) -> Option<u64> {
        let settings = self.settings();
        let kept_times = self.view.configuration.kept_times;
        let until_ms = kept_times.grace_until_ms(settings, record.fact)?;
        let now_ms = self.now_ms();
        (settings.entrance_at(now_ms) == Entrance::Open && now_ms <= until_ms).then_some(until_ms)
    }

    /// Returns the partition that holds the records of this queue's entries.
    pub(crate) fn partition(&self) -> EntryPartition {
        let Configuration {
            settings, kept_times, ..
        } = &self.view.configuration;
        EntryPartition {
            grace_seconds: kept_times.grace_seconds_at(settings, self.now_ms()),
            ..EntryPartition::from_configuration(&self.queue, &self.view.configuration)
        }
    }
}

/// Why there is no snapshot of a queue.
#[derive(Debug, Clone)]
pub(crate) enum QueueLookupError {
    /// Neither the line nor the backup has the queue.
    QueueNotFound,
    /// The queue was deleted.
    QueueDeleted(Tombstone),
    /// The line does not have the queue, and the backup was not asked, because too many queues that do not exist were
    /// asked for.
    TooManyLookups,
    /// The backup has the queue, and the line lost it.
    Recovering,
    /// The line gave no answer.
    LineUnavailable(String),
    /// The line does not have the queue, and the backup gave no answer.
    BackupUnavailable(String),
    /// The line gave an answer that makes no sense.
    Protocol(String),
    /// The queue was made with another root key. Nothing is served for it: each visitor would get a new place.
    OtherRootKey,
}

impl From<OtherRootKey> for QueueLookupError {
    fn from(_: OtherRootKey) -> Self {
        Self::OtherRootKey
    }
}

impl From<BackupError> for QueueLookupError {
    fn from(error: BackupError) -> Self {
        Self::BackupUnavailable(error.to_string())
    }
}
