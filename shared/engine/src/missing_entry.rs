//! Finds out what became of an entry that has no place in the line: it ended, it never existed, or
//! the line lost it and it is restored now.

use std::time::Duration;

use tokio::time::timeout;
use vestibule_backup::{Backup, BackupError, EntryPartition};
use vestibule_domain::{change::Change, id::EntryId, record::EntryRecord, state::EntryState};
use vestibule_line::{Line, LineError, NotFound, PromoteOrder};

use crate::{
    restore_entry::{LostEntry, RestoreEntryError, restore_entry},
    stale_end::{StaleEndError, resolve_stale_end},
    write_through::write_idempotent,
};

/// How long a request waits while a lost entry is restored. The restore takes several requests to
/// the backup, and each may be slow. Cancelling it halfway has the same effect as a killed process,
/// which is harmless. The next request finds what was done so far.
const RECOVERY_TIMEOUT: Duration = Duration::from_secs(1);

/// What became of an entry that the line does not have.
#[derive(Debug)]
pub enum MissingEntryOutcome {
    /// The entry ended, as this record shows.
    Ended(EntryRecord),
    /// The deadline of the entry passed a moment ago, and no promotion has dropped the entry yet.
    TimedOut(Option<EntryRecord>),
    /// The line says that the entry ended, but it may have lost a later change. Only the backup
    /// could tell, and it is unavailable. The client is not told of the end, because a client that
    /// is told of an end does not ask again.
    Unconfirmed(BackupError),
    /// The backup had the entry as live, and the line has it again. The caller should ask the line
    /// once more.
    Restored,
    /// The backup has the entry as live, and it is not certain now whether the line should have it.
    Unclear,
    /// The entry never existed, or its record has expired.
    NeverExisted,
}

/// Why it is not known what became of an entry.
#[derive(Debug, thiserror::Error)]
pub enum MissingEntryError {
    /// The line failed.
    #[error(transparent)]
    Line(#[from] LineError),
    /// The backup failed, and the line does not know the entry.
    #[error(transparent)]
    Backup(#[from] BackupError),
    /// The restore took longer than a request may wait. The next request continues.
    #[error("the line does not have the entry, and reading it from the backup took too long")]
    Timeout,
}

impl From<RestoreEntryError> for MissingEntryError {
    fn from(error: RestoreEntryError) -> Self {
        match error {
            RestoreEntryError::Line(error) => Self::Line(error),
            RestoreEntryError::Backup(error) => Self::Backup(error),
        }
    }
}

/// What a request knows about the queue of an entry, and where it finds the rest.
#[derive(Clone, Copy)]
pub struct EntryContext<'a> {
    /// The line.
    pub line: &'a dyn Line,
    /// The backup.
    pub backup: &'a dyn Backup,
    /// Where the backup keeps the entries of the queue's generation.
    pub partition: &'a EntryPartition,
    /// The line time, in Unix milliseconds.
    pub now_ms: u64,
}

impl EntryContext<'_> {
    /// Finds out what became of an entry. If the line knows an end that the backup may lack, this
    /// writes the end first, because the request that ended the entry may have been killed before
    /// it wrote.
    ///
    /// # Errors
    /// [`MissingEntryError`] if the line or the backup did not answer, or not in time.
    pub async fn resolve_missing_entry(
        self,
        id: EntryId,
        missing: NotFound,
    ) -> Result<MissingEntryOutcome, MissingEntryError> {
        // The box keeps this rare case from enlarging the future of every request.
        timeout(
            RECOVERY_TIMEOUT,
            Box::pin(self.resolve_without_timeout(id, missing)),
        )
        .await
        .unwrap_or(Err(MissingEntryError::Timeout))
    }

    /// Reads the record of an entry, for a request that can do without it. Returns `None` if the
    /// backup is unavailable.
    pub async fn read_record(self, id: EntryId) -> Option<EntryRecord> {
        match self.backup.read_entry(self.partition, id).await {
            Ok(record) => record,
            Err(error) => {
                tracing::warn!(
                    event = "entry.record_unavailable", cause = %error,
                    "continued a request without the record of the entry because the backup did not return it"
                );
                None
            }
        }
    }

    async fn resolve_without_timeout(
        self,
        id: EntryId,
        missing: NotFound,
    ) -> Result<MissingEntryOutcome, MissingEntryError> {
        if missing == NotFound::RecentlyEnded {
            match self.line.unsettled_end(&self.partition.queue, id).await {
                Ok(Some(end)) => return self.resolve_end(&end).await,
                Ok(None) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let record = match self.backup.read_entry(self.partition, id).await {
            Ok(record) => record,
            Err(error) => match missing {
                NotFound::RecentlyEnded => return Ok(MissingEntryOutcome::Unconfirmed(error)),
                NotFound::Unknown => return Err(error.into()),
            },
        };
        match (record, missing) {
            (Some(record), _) if !record.state.is_live() => Ok(MissingEntryOutcome::Ended(record)),
            (Some(record), NotFound::RecentlyEnded) if !record.is_due(self.now_ms) => {
                self.drop_timed_out(record.id).await
            }
            // A claim that never reached the backup may have taken the turn that the record shows.
            // The line knows.
            (Some(record), NotFound::RecentlyEnded) if record.state == EntryState::Ready => {
                match self.drop_timed_out(record.id).await? {
                    MissingEntryOutcome::Unclear => Ok(MissingEntryOutcome::TimedOut(Some(record))),
                    outcome => Ok(outcome),
                }
            }
            (record, NotFound::RecentlyEnded) => Ok(MissingEntryOutcome::TimedOut(record)),
            (Some(record), NotFound::Unknown) => self.restore_lost_entry(record).await,
            (None, NotFound::Unknown) => Ok(MissingEntryOutcome::NeverExisted),
        }
    }

    /// Makes the line drop what timed out, so that it names the visit that ended. That may be an earlier
    /// visit than the record shows, if the line lost the later one. It may also be a later state, if the
    /// backup is behind.
    async fn drop_timed_out(self, id: EntryId) -> Result<MissingEntryOutcome, MissingEntryError> {
        let no_promotion = PromoteOrder {
            max_entries: 0,
            is_promoter: false,
            min_watermark: None,
        };
        let end = match self.line.promote(&self.partition.queue, no_promotion).await {
            Ok(_) => self.line.unsettled_end(&self.partition.queue, id).await,
            Err(error) => Err(error),
        };
        match end {
            Ok(Some(end)) => self.resolve_end(&end).await,
            // More entries timed out than one call drops, or the clock is not trusted. The next request
            // finds out.
            Ok(None) => Ok(MissingEntryOutcome::Unclear),
            Err(error) => Err(error.into()),
        }
    }

    /// Restores an entry that the line lost.
    async fn restore_lost_entry(self, record: EntryRecord) -> Result<MissingEntryOutcome, MissingEntryError> {
        match restore_entry(self.line, self.backup, self.partition, record).await {
            Ok(LostEntry::InLine) => Ok(MissingEntryOutcome::Restored),
            Ok(LostEntry::EndRecorded(Some(record))) => Ok(MissingEntryOutcome::Ended(record)),
            Ok(LostEntry::EndRecorded(None)) => Ok(MissingEntryOutcome::NeverExisted),
            // The entry ended a moment ago, or its state is unclear. The next request finds out how it
            // ended.
            Ok(LostEntry::EndPending | LostEntry::Undecided) => Ok(MissingEntryOutcome::Unclear),
            Err(error) => Err(error.into()),
        }
    }

    async fn resolve_end(self, end: &Change) -> Result<MissingEntryOutcome, MissingEntryError> {
        let written = write_idempotent(self.line, self.backup, self.partition, end)
            .await?
            .record;
        let record = match written {
            Some(record) => Some(record),
            None => match self.backup.read_entry(self.partition, end.id).await {
                Ok(record) => record,
                Err(error) => return Ok(MissingEntryOutcome::Unconfirmed(error)),
            },
        };
        Ok(match record {
            Some(record) if !record.state.is_live() => MissingEntryOutcome::Ended(record),
            // An earlier visit ended, and the line lost the visit that came after it.
            Some(record) if record.version > end.version || record.visit != end.event.visit() => {
                return self.restore_lost_entry(record).await;
            }
            Some(record) if record.supersedes(end) => {
                return self.resolve_stale_end(&record, end).await;
            }
            // The backup is behind. Its record will show this end.
            record => match EntryRecord::apply_change(record.as_ref(), end, self.partition.retain_hours) {
                Some(record) if !record.state.is_live() => MissingEntryOutcome::Ended(record),
                _ => MissingEntryOutcome::TimedOut(record),
            },
        })
    }

    /// The record shows that the visit goes on after this end, as far as the backup knows.
    async fn resolve_stale_end(
        self,
        record: &EntryRecord,
        end: &Change,
    ) -> Result<MissingEntryOutcome, MissingEntryError> {
        match resolve_stale_end(self.line, self.backup, self.partition, record, end).await {
            Ok(()) => {}
            Err(StaleEndError::Backup(error)) => return Ok(MissingEntryOutcome::Unconfirmed(error)),
            Err(StaleEndError::Line(error)) => return Err(error.into()),
        }
        match self.backup.read_entry(self.partition, end.id).await {
            Ok(Some(record)) if record.state.is_live() => self.restore_lost_entry(record).await,
            Ok(Some(record)) => Ok(MissingEntryOutcome::Ended(record)),
            Ok(None) => Ok(MissingEntryOutcome::NeverExisted),
            Err(error) => Ok(MissingEntryOutcome::Unconfirmed(error)),
        }
    }
}
