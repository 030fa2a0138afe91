//! Writes what a visitor did before the request is acknowledged.

use std::time::Duration;

use tokio::time::timeout;
use vestibule_backup::{Backup, BackupError, EntryPartition, PutOutcome};
use vestibule_domain::{change::Change, record::EntryRecord};
use vestibule_line::{JournalLine, LineError};

/// How long a visitor's request waits for the backup, including all attempts and pauses.
pub const WRITE_DEADLINE: Duration = Duration::from_secs(2);

/// The outcome of a write-through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteOutcome {
    /// Whether the backup holds the change. Otherwise the line's journal holds it until the backup
    /// accepts it.
    pub durable: bool,
    /// Whether the change conflicts with the record: there the visit has ended, or another visit is
    /// live.
    pub is_conflicting: bool,
    /// The record after this change was written into it; `None` if the record already showed this
    /// change or a later one.
    pub record: Option<EntryRecord>,
}

/// Writes a change within [`WRITE_DEADLINE`].
///
/// # Errors
/// [`BackupError`] if the backup did not accept the change by then.
pub async fn write_before_deadline(
    backup: &dyn Backup,
    partition: &EntryPartition,
    change: &Change,
) -> Result<PutOutcome, BackupError> {
    timeout(WRITE_DEADLINE, backup.put_change(partition, change))
        .await
        .unwrap_or_else(|_| Err(BackupError::Unavailable("it did not answer in time".to_owned())))
}

/// Writes a change before the request is acknowledged. If the backup does not accept it within
/// [`WRITE_DEADLINE`], the visitor is served all the same: the change goes to the line's journal.
///
/// # Errors
/// [`LineError`] if neither the backup nor the journal accepted the change. It is then unknown
/// whether one of them did.
pub async fn write_through(
    line: &(impl JournalLine + ?Sized),
    backup: &dyn Backup,
    partition: &EntryPartition,
    change: &Change,
) -> Result<WriteOutcome, LineError> {
    let queue = &partition.queue;
    let outcome = write_before_deadline(backup, partition, change).await;
    let is_conflicting = matches!(outcome, Ok(PutOutcome::Conflicting));
    let refused = match outcome {
        Ok(PutOutcome::Stored(record)) => Ok(Some(record)),
        Ok(PutOutcome::Superseded) => Ok(None),
        // The line had lost the end or the other visit. The consistency check decides, unless the
        // caller knows enough.
        Ok(PutOutcome::Conflicting) => {
            Err("its record shows that the visit ended, or another live visit".to_owned())
        }
        Err(error) => Err(error.to_string()),
    };
    let record = match refused {
        Ok(record) => record,
        Err(reason) => {
            tracing::warn!(
                event = "entry.change_journaled", %queue, entry = %change.id, reason,
                "the backup did not accept a change of an entry; added the change to the journal instead"
            );
            line.append_to_journal(queue, change).await?;
            return Ok(WriteOutcome {
                durable: false,
                is_conflicting,
                record: None,
            });
        }
    };
    if let Some(ending) = change.visit_end()
        && let Err(error) = line.acknowledge(queue, &[], &[ending]).await
    {
        // Harmless: the line only remembers the end longer than it needs to.
        tracing::warn!(
            event = "entry.end_acknowledgement_failed", %queue, entry = %change.id, %error,
            "could not tell Redis that the backup holds an end; the consistency check acknowledges it later"
        );
    }
    Ok(WriteOutcome {
        durable: true,
        is_conflicting,
        record,
    })
}

/// Like [`write_through`], for a change that the line keeps by itself and returns to every request
/// that asks. The write is idempotent. If the journal is full, the change is not durable yet, but
/// it is not lost either.
///
/// # Errors
/// [`LineError`] if the line failed for any other reason.
pub async fn write_idempotent(
    line: &(impl JournalLine + ?Sized),
    backup: &dyn Backup,
    partition: &EntryPartition,
    change: &Change,
) -> Result<WriteOutcome, LineError> {
    match write_through(line, backup, partition, change).await {
        Err(LineError::JournalFull) => Ok(WriteOutcome {
            durable: false,
            is_conflicting: false,
            record: None,
        }),
        outcome => outcome,
    }
}
