//! The journal: the outbox of changes that the backup does not have yet.

use async_trait::async_trait;
use vestibule_domain::{
    change::{Change, VisitEnd},
    id::QueueId,
};

use super::{DeadLetterOutcome, JournalRecord, LineError, QueueLine, RequeueOrder};

/// The journal, its dead letters, and the acknowledgement of what the backup has.
#[async_trait]
pub trait JournalLine: QueueLine {
    /// Returns the oldest journal records that are due, oldest first, at most `records_max`. A line
    /// may return fewer, but at least one if there is one, so that the answer stays within about a
    /// megabyte.
    async fn due_journal_records(
        &self,
        queue: &QueueId,
        records_max: usize,
    ) -> Result<Vec<JournalRecord>, LineError>;

    /// Returns the oldest journal records, due or not, oldest first, at most `records_max`. The
    /// backup does not have their changes yet.
    async fn journal_records(
        &self,
        queue: &QueueId,
        records_max: usize,
    ) -> Result<Vec<JournalRecord>, LineError>;

    /// Appends a change to the journal after the backup failed to take it. The journal has at most
    /// one record of each entry and kind of change: the change replaces a lesser fact of its kind,
    /// and is dropped if the journal has a greater one.
    ///
    /// # Errors
    /// [`LineError::JournalFull`] if the journal is at its overall limit.
    async fn append_to_journal(&self, queue: &QueueId, change: &Change) -> Result<(), LineError>;

    /// Replaces a journal record with those of its changes that the backup did not take. The
    /// rejected changes are due again after a backoff. Does nothing if another caller has already
    /// handled the record.
    async fn requeue_with_backoff(&self, queue: &QueueId, order: &RequeueOrder) -> Result<(), LineError>;

    /// Moves a journal record to the dead letters. The caller does this with a record that the
    /// backup keeps rejecting or that cannot be read.
    async fn dead_letter(&self, queue: &QueueId, key: &str) -> Result<DeadLetterOutcome, LineError>;

    /// Returns the oldest dead letters, oldest first, at most `records_max`. Pass their keys to
    /// [`acknowledge`](Self::acknowledge) to remove them.
    async fn dead_lettered(
        &self,
        queue: &QueueId,
        records_max: usize,
    ) -> Result<Vec<JournalRecord>, LineError>;

    /// Acknowledges what the backup has: drops these records from the journal and the dead letters,
    /// and marks these ends as settled. The line keeps a settled end for
    /// [`SETTLED_END_KEPT_MS`](crate::SETTLED_END_KEPT_MS), because another process may still hold
    /// an older record.
    ///
    /// The end of an entry that entered and ended again since then stays unsettled, because its
    /// fact is greater.
    async fn acknowledge(
        &self,
        queue: &QueueId,
        keys: &[String],
        ended: &[VisitEnd],
    ) -> Result<(), LineError>;
}
