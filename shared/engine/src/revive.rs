//! Restores one entry that the line lost, for example in a failover to a replica that missed the last writes.

use vestibule_backup::{Backup, BackupError, Shelf};
use vestibule_domain::record::Record;
use vestibule_line::{Instead, Line, LineError, Revival, Revived};

use super::write_through::write_through;

/// How often the record is read again before the restore gives up. Each round means that another visit of the entry
/// began and ended in between.
const ROUNDS: usize = 4;

/// The outcome of restoring a lost entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// The entry has a place in the line now.
    Here,
    /// The visit has ended. Holds the record of the end if the backup has one.
    Over(Option<Record>),
    /// The visit has ended, and the backup may not have the end yet. The caller asks the line for it.
    Ended,
    /// Undecided: the record does not fit the line's generation or epoch, or the entry kept changing.
    Unclear,
}

/// Why an entry could not be restored. The caller may try again.
#[derive(Debug, thiserror::Error)]
pub enum ReviveError {
    /// The line failed to answer.
    #[error(transparent)]
    Line(#[from] LineError),
    /// The backup could not be read.
    #[error(transparent)]
    Backup(#[from] BackupError),
}

/// Restores an entry that has no place in the line, as this record shows it. The change is written before the function
/// returns and the entry becomes visible. A late write of the lost history therefore finds a later version and has no
/// effect.
///
/// # Errors
/// [`ReviveError`] if the line or the backup failed to answer.
pub async fn revive(
    line: &dyn Line,
    backup: &dyn Backup,
    shelf: &Shelf,
    mut record: Record,
) -> Result<Found, ReviveError> {
    let (queue, id) = (&shelf.queue, record.id);
    let mut instead = Instead::Nothing;
    for _ in 0..ROUNDS {
        let revival = Revival {
            record,
            generation: shelf.generation,
            instead,
        };
        match line.revive(queue, &revival).await? {
            Revived::Back { standing, change } => {
                write_through(line, backup, shelf, &change).await?;
                let state = standing.state().name();
                tracing::warn!(
                    event = "entry.restored", %queue, entry = %id, state,
                    "restored an entry that Redis had lost and DynamoDB still shows as live"
                );
                return Ok(Found::Here);
            }
            Revived::Here(_) => return Ok(Found::Here),
            Revived::Expired(end) => {
                let through = write_through(line, backup, shelf, &end).await?;
                let shown = Record::after(Some(&revival.record), &end, shelf.retain_hours);
                return Ok(Found::Over(through.record.or(shown)));
            }
            Revived::Ended => return Ok(Found::Ended),
            Revived::Refused => return Ok(Found::Unclear),
            Revived::Sought(mark) => match backup.entry(shelf, id).await? {
                Some(again) if again.state.is_live() => (record, instead) = (again, Instead::Sought(mark)),
                over => return Ok(Found::Over(over)),
            },
        }
    }
    Ok(Found::Unclear)
}
