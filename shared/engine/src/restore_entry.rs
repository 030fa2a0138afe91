//! Restores one entry that the line lost, for example in a failover to a replica that missed the
//! last writes.

use vestibule_backup::{Backup, BackupError, EntryPartition};
use vestibule_domain::record::EntryRecord;
use vestibule_line::{
    JournalLine, LineError, RecoveryLine, ReplacedEntry, RestoreEntryOrder, RestoreEntryOutcome,
};

use super::write_through::write_through;

/// How often the record is read again before the restore gives up. Each round means that another
/// visit of the entry began and ended in between.
const ATTEMPTS_MAX: usize = 4;

/// The outcome of restoring a lost entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LostEntry {
    /// The entry has a place in the line now.
    InLine,
    /// The visit has ended. Holds the record of the end if the backup has one.
    EndRecorded(Option<EntryRecord>),
    /// The visit has ended, and the backup may not have the end yet. The caller asks the line for it.
    EndPending,
    /// Undecided: the record does not fit the line's generation or epoch, or the entry kept changing.
    Undecided,
}

/// Why an entry could not be restored. The caller may try again.
#[derive(Debug, thiserror::Error)]
pub enum RestoreEntryError {
    /// The line failed to answer.
    #[error(transparent)]
    Line(#[from] LineError),
    /// The backup could not be read.
    #[error(transparent)]
    Backup(#[from] BackupError),
}

/// Restores an entry that has no place in the line, as this record shows it. The change is written
/// before the function returns and the entry becomes visible. A late write of the lost history
/// therefore finds a later version and has no effect.
///
/// # Errors
/// [`RestoreEntryError`] if the line or the backup failed to answer.
pub async fn restore_entry(
    line: &(impl JournalLine + RecoveryLine + ?Sized),
    backup: &dyn Backup,
    partition: &EntryPartition,
    mut record: EntryRecord,
) -> Result<LostEntry, RestoreEntryError> {
    let (queue, id) = (&partition.queue, record.id);
    let mut replaced = ReplacedEntry::Nothing;
    for _ in 0..ATTEMPTS_MAX {
        let order = RestoreEntryOrder {
            record,
            generation: partition.generation,
            replaced,
        };
        match line.restore_entry(queue, &order).await? {
            RestoreEntryOutcome::Restored { status, change } => {
                write_through(line, backup, partition, &change).await?;
                let state = status.state().name();
                tracing::warn!(
                    event = "entry.restored", %queue, entry = %id, state,
                    "restored an entry that Redis had lost and DynamoDB still shows as live"
                );
                return Ok(LostEntry::InLine);
            }
            RestoreEntryOutcome::AlreadyLive(_) => return Ok(LostEntry::InLine),
            RestoreEntryOutcome::SessionExpired(end) => {
                let write = write_through(line, backup, partition, &end).await?;
                let ended_record =
                    EntryRecord::apply_change(Some(&order.record), &end, partition.retain_hours);
                return Ok(LostEntry::EndRecorded(write.record.or(ended_record)));
            }
            RestoreEntryOutcome::AlreadyEnded => return Ok(LostEntry::EndPending),
            RestoreEntryOutcome::Rejected => return Ok(LostEntry::Undecided),
            RestoreEntryOutcome::TicketIssued(ticket) => match backup.read_entry(partition, id).await? {
                Some(again) if again.state.is_live() => {
                    (record, replaced) = (again, ReplacedEntry::Ticket(ticket));
                }
                ended => return Ok(LostEntry::EndRecorded(ended)),
            },
        }
    }
    Ok(LostEntry::Undecided)
}
