//! Putting one entry back that the line lost, such as in a failover to a replica that missed the last writes.

use super::{Backup, BackupError, Shelf, write_through::write_through};
use crate::{
    domain::record::Record,
    line::{Instead, Line, LineError, Revival, Revived},
};

/// How often the record is read again before the caller is sent away: each time another visit of the same entry has come
/// and gone in between.
const ROUNDS: usize = 4;

/// What became of an entry that was to be put back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// It has a place in the line now.
    Here,
    /// It is gone: the record of that, where the backup has one.
    Over(Option<Record>),
    /// It ended, and the backup may not know yet: ask the line.
    Ended,
    /// The record and the line do not belong together, or somebody changed the entry all the time.
    Unclear,
}

/// Why nobody can say whether an entry is to be put back. It may be tried again.
#[derive(Debug, thiserror::Error)]
pub enum ReviveError {
    /// The line gave no answer.
    #[error(transparent)]
    Line(#[from] LineError),
    /// The backup could not be read.
    #[error(transparent)]
    Backup(#[from] BackupError),
}

/// Puts back an entry that stands nowhere in the line, as this record has it. The change is written before the entry is
/// shown to anybody: so a late write of the history that was lost finds a later version.
///
/// # Errors
/// [`ReviveError`] where the line or the backup gave no answer.
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
