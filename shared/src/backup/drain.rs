//! Bringing the line's journal into the backup.

use super::{Backup, BackupError, Shelf};
use crate::{
    domain::change::Change,
    line::{Line, LineError},
};

/// What a drain brought into the backup.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Drained {
    /// Journal records.
    pub records: usize,
    /// Changes in them.
    pub changes: usize,
}

/// Why a drain stopped. What it had brought by then is in the backup and gone from the journal.
#[derive(Debug, thiserror::Error)]
pub enum DrainError {
    /// The line gave no answer.
    #[error(transparent)]
    Line(#[from] LineError),
    /// The backup took no more.
    #[error(transparent)]
    Backup(#[from] BackupError),
}

/// Writes the oldest journal records, in order, at most so many; each leaves the journal when the backup has it. Any
/// number of callers may drain at once, and a drain that was cut off may be made again: what the backup shows already
/// changes nothing.
///
/// # Errors
/// [`DrainError`] at the first failure: the record it met, and those after it, stay in the journal.
pub async fn drain(
    line: &dyn Line,
    backup: &dyn Backup,
    shelf: &Shelf,
    most_records: usize,
) -> Result<Drained, DrainError> {
    let mut drained = Drained::default();
    for record in line.journal(&shelf.queue, most_records).await? {
        backup.write_all(shelf, &record.changes).await?;
        let ended: Vec<_> = record.changes.iter().filter_map(Change::ending).collect();
        line.settle(&shelf.queue, &[record.key], &ended).await?;
        drained.records += 1;
        drained.changes += record.changes.len();
    }
    Ok(drained)
}
