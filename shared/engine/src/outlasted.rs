//! Resolves a stale end: the line remembers the end, but the record in the backup supersedes it. Either the line lost
//! what followed the end, or the line's journal still holds changes that precede it.

use vestibule_backup::{Backup, BackupError, Shelf};
use vestibule_domain::{change::Change, record::Record};
use vestibule_line::{Line, LineError};

use super::WHOLE_JOURNAL_MAX;

/// Why a stale end could not be resolved.
#[derive(Debug, thiserror::Error)]
pub enum OutlastedError {
    /// The line failed to answer.
    #[error(transparent)]
    Line(#[from] LineError),
    /// The backup failed to answer.
    #[error(transparent)]
    Backup(#[from] BackupError),
}

/// Resolves an end that this record supersedes. If the journal holds changes of the entry between the record and the
/// end, for example another promotion, they are written to the backup first, and then the end. If it holds none, the
/// end does not count, and the line forgets it.
///
/// # Errors
/// [`OutlastedError`] if the line or the backup failed to answer.
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
