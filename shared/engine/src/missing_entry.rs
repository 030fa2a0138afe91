//! Finds out what became of an entry that the line does not have, and restores one that the line lost.

use std::time::Duration;

use tokio::time::{Instant, timeout};
use vestibule_backup::BackupError;
use vestibule_domain::{change::Change, entry_status::EntryStatus, id::EntryId, record::EntryRecord};
use vestibule_line::{AdoptBasis, LineError, NotFound};
use vestibule_telemetry::line_limit::LineLimit;

use crate::{
    agree::{Agreement, Start, agree},
    entry_context::EntryContext,
    log_agreement::log_agreement,
    write_through::WRITE_DEADLINE,
};

/// While the backup is away, each visitor would have a line.
static LINES: LineLimit = LineLimit::new();

/// How long a request waits while a lost entry is restored. The restore takes several requests to
/// the backup, and each may be slow. Cancelling it halfway has the same effect as a killed process,
/// which is harmless. The next request finds what was done so far.
const RECOVERY_TIMEOUT: Duration = Duration::from_secs(1);

/// What became of an entry that the line does not have.
#[derive(Debug)]
pub enum MissingEntryOutcome {
    /// The entry ended, as this record shows. The backup may not have that end yet.
    Ended(EntryRecord),
    /// The line says that the entry ended, but it may have lost a later change. Only the backup
    /// could tell, and it is unavailable. The client is not told of the end, because a client that
    /// is told of an end does not ask again.
    Unconfirmed(BackupError),
    /// The backup had the entry as live, and the line has it again. The caller should ask the line
    /// once more.
    Restored(EntryStatus),
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

impl EntryContext<'_> {
    /// Finds out what became of an entry that the line does not have, and restores it if the line
    /// lost it. If the line knows an end that the backup may lack, this writes the end first,
    /// because the request that ended the entry may have been killed before it wrote.
    ///
    /// # Errors
    /// [`MissingEntryError`] if the line or the backup did not answer, or not in time.
    pub async fn resolve_missing_entry(
        self,
        id: EntryId,
        missing: NotFound,
    ) -> Result<MissingEntryOutcome, MissingEntryError> {
        // The box keeps this rare case from enlarging the future of every request.
        let resolved = Box::pin(async {
            match missing {
                NotFound::Ended(end) => self.resolve_end(end).await,
                NotFound::Unknown { at_ms } => self.resolve_unknown(id, at_ms).await,
            }
        });
        timeout(RECOVERY_TIMEOUT, resolved)
            .await
            .unwrap_or(Err(MissingEntryError::Timeout))
    }

    /// Says what became of an entry that the line does not have by its record, for a caller who may change nothing. An entry
    /// that the line lost is [`Unclear`](MissingEntryOutcome::Unclear), and an end that the backup lacks is not written.
    ///
    /// # Errors
    /// [`MissingEntryError`] if the backup did not answer, and the line does not know the entry.
    pub fn missing_entry_outcome(
        self,
        missing: NotFound,
        stored: Result<Option<EntryRecord>, BackupError>,
    ) -> Result<MissingEntryOutcome, MissingEntryError> {
        let NotFound::Ended(end) = missing else {
            return Ok(missing_outcome(stored?));
        };
        Ok(match stored {
            Ok(Some(record)) if record.fact > end.fact() => missing_outcome(Some(record)),
            Ok(record) => self.ended_by(record.as_ref(), &end),
            Err(error) => MissingEntryOutcome::Unconfirmed(error),
        })
    }

    /// Writes an end that the line knows, unless the backup has it. If the record states a greater fact, the line had lost
    /// that. Reading first makes a visitor who asks again and again cost one write.
    async fn resolve_end(self, end: Change) -> Result<MissingEntryOutcome, MissingEntryError> {
        if let Ok(Some(record)) = self.backup.read_entry(self.partition, end.id).await
            && record.fact >= end.fact()
            && !record.fact.is_live()
        {
            return Ok(MissingEntryOutcome::Ended(record));
        }
        let deadline = Instant::now() + WRITE_DEADLINE;
        let start = Start::Write(end);
        match agree(self.line, self.backup, self.partition, start, deadline).await? {
            Agreement::Reached(agreed) => {
                log_agreement(self.partition, end.id, &agreed);
                Ok(match agreed.place.status() {
                    Some(status) => MissingEntryOutcome::Restored(status),
                    None => missing_outcome(agreed.record),
                })
            }
            // The backup may still answer reads.
            Agreement::Unwritten(_, change, error) => {
                match self.backup.read_entry(self.partition, end.id).await {
                    Ok(Some(record)) if record.fact > change.fact() => {
                        self.take_over(record, AdoptBasis::Known).await
                    }
                    Ok(record) => Ok(self.ended_by(record.as_ref(), &change)),
                    Err(_) => Ok(MissingEntryOutcome::Unconfirmed(error)),
                }
            }
            Agreement::EnterAgain | Agreement::Undecided => Ok(MissingEntryOutcome::Unclear),
        }
    }

    /// Reads the record of an entry that the line did not know at `at_ms`, and restores the entry
    /// if it is live.
    async fn resolve_unknown(
        self,
        id: EntryId,
        at_ms: u64,
    ) -> Result<MissingEntryOutcome, MissingEntryError> {
        match self.backup.read_entry(self.partition, id).await? {
            None => Ok(MissingEntryOutcome::NeverExisted),
            Some(record) if !record.fact.is_live() => Ok(MissingEntryOutcome::Ended(record)),
            Some(record) => self.take_over(record, AdoptBasis::UnknownAt(at_ms)).await,
        }
    }

    async fn take_over(
        self,
        record: EntryRecord,
        basis: AdoptBasis,
    ) -> Result<MissingEntryOutcome, MissingEntryError> {
        let id = record.id;
        Ok(match self.agree(id, Some(record), basis).await? {
            Agreement::Reached(agreed) => match agreed.place.status() {
                Some(status) => MissingEntryOutcome::Restored(status),
                None => missing_outcome(agreed.record),
            },
            Agreement::Unwritten(agreed, change, error) => {
                // The line has the change, and its journal keeps it for the backup.
                self.line
                    .append_to_journal(&self.partition.queue, &change)
                    .await?;
                if let Some(left_out) = LINES.admit() {
                    tracing::warn!(
                        event = "entry.change_journaled", queue = %self.partition.queue, entry = %id, %error, left_out,
                        "the backup did not accept a change of an entry; added the change to the journal instead"
                    );
                }
                match agreed.place.status() {
                    Some(status) => MissingEntryOutcome::Restored(status),
                    None => self.ended_by(agreed.record.as_ref(), &change),
                }
            }
            Agreement::EnterAgain | Agreement::Undecided => MissingEntryOutcome::Unclear,
        })
    }

    /// The record as it will be when the backup has this end.
    pub(super) fn ended_by(self, record: Option<&EntryRecord>, end: &Change) -> MissingEntryOutcome {
        MissingEntryOutcome::Ended(EntryRecord::with_end(record, end, self.partition.put_rules()))
    }
}

pub(super) fn missing_outcome(record: Option<EntryRecord>) -> MissingEntryOutcome {
    match record {
        Some(record) if record.fact.is_live() => MissingEntryOutcome::Unclear,
        Some(record) => MissingEntryOutcome::Ended(record),
        None => MissingEntryOutcome::NeverExisted,
    }
}
