//! An end that the line knows and the record outlasts: of a line that lost what came after it, or ahead of what the line's
//! journal still holds.

use vestibule_backup::{Backup, BackupError, Shelf};
use vestibule_domain::{change::Change, record::Record};
use vestibule_line::{Line, LineError};

use super::WHOLE_JOURNAL_MAX;

/// Why nobody can say what becomes of an end.
#[derive(Debug, thiserror::Error)]
pub enum OutlastedError {
    /// The line gave no answer.
    #[error(transparent)]
    Line(#[from] LineError),
    /// The backup gave no answer.
    #[error(transparent)]
    Backup(#[from] BackupError),
}

/// Sees to an end that this record outlasts. What the journal has of the entry since is written first, such as that it was
/// promoted once more, and the end after that. Where it has nothing, the line forgets the end: it does not count.
///
/// # Errors
/// [`OutlastedError`] where the line or the backup gave no answer.
pub async fn outlasted(
    line: &dyn Line,
    backup: &dyn Backup,
    shelf: &Shelf,
    record: &Record,
    end: &Change,
) -> Result<(), OutlastedError> {
    let queue = &shelf.queue;
    let journal = line.whole_journal(queue, WHOLE_JOURNAL_MAX).await?;
    let since = |change: &Change| {
        change.id == end.id && record.version < change.version && change.version < end.version
    };
    let mut changes: Vec<_> = journal
        .into_iter()
        .flat_map(|record| record.changes)
        .filter(since)
        .collect();
    if changes.is_empty() {
        line.settle(queue, &[], end.ending().as_slice()).await?;
        return Ok(());
    }
    changes.push(*end);
    changes.sort_by_key(|change| change.version);
    for change in &changes {
        backup.write(shelf, change).await?;
    }
    Ok(())
}
