//! Resolves a stale end: the line remembers the end, but the record in the backup supersedes it.
//! Either the line lost what followed the end, or the line's journal still holds changes that
//! precede it.

use vestibule_backup::{Backup, BackupError, EntryPartition};
use vestibule_domain::{change::Change, record::EntryRecord};
use vestibule_line::{JournalLine, LineError};

use super::JOURNAL_RECORDS_MAX;

/// Why a stale end could not be resolved.
#[derive(Debug, thiserror::Error)]
pub enum StaleEndError {
    /// The line failed to answer.
    #[error(transparent)]
    Line(#[from] LineError),
    /// The backup failed to answer.
    #[error(transparent)]
    Backup(#[from] BackupError),
}

/// Resolves an end that this record supersedes. If the journal holds changes of the entry between
/// the record and the end, for example another promotion, they are written to the backup first, and
/// then the end. If it holds none, the end does not count, and the line forgets it.
///
/// # Errors
/// [`StaleEndError`] if the line or the backup failed to answer.
pub async fn resolve_stale_end(
    line: &(impl JournalLine + ?Sized),
    backup: &dyn Backup,
    partition: &EntryPartition,
    record: &EntryRecord,
    end: &Change,
) -> Result<(), StaleEndError> {
    let queue = &partition.queue;
    let journal = line.journal_records(queue, JOURNAL_RECORDS_MAX).await?;
    let since = |change: &Change| {
        change.id == end.id && record.version < change.version && change.version < end.version
    };
    let mut changes: Vec<_> = journal
        .into_iter()
        .flat_map(|record| record.changes)
        .filter(since)
        .collect();
    if changes.is_empty() {
        line.acknowledge(queue, &[], end.visit_end().as_slice()).await?;
        return Ok(());
    }
    changes.push(*end);
    changes.sort_by_key(|change| change.version);
    for change in &changes {
        backup.put_change(partition, change).await?;
    }
    Ok(())
}
