//! Bringing the line's journal into the backup.

use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::{Backup, BackupError, Shelf};
use crate::{
    domain::change::Change,
    line::{JournalRecord, Line, LineError},
};

/// The most journal records that one drain of a driver takes to the backup.
pub const RECORDS_MAX: usize = 100;
/// How long the backup may take for one record. Long, because a record that is cut off has got nowhere: all of it
/// would be written again.
pub const RECORD_TIMEOUT: Duration = Duration::from_secs(30);

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
/// After `until` no further record is begun, but the first always is, and one that was begun is brought to its end:
/// a backup that is slower than the caller's patience still gets on, by a record a call.
///
/// # Errors
/// [`DrainError`] at the first failure: the record it met, and those after it, stay in the journal.
pub async fn drain(
    line: &dyn Line,
    backup: &dyn Backup,
    shelf: &Shelf,
    most_records: usize,
    until: Instant,
) -> Result<Drained, DrainError> {
    let mut drained = Drained::default();
    for record in line.journal(&shelf.queue, most_records).await? {
        if drained.records > 0 && Instant::now() >= until {
            break;
        }
        drained.changes += settle(line, backup, shelf, record).await?;
        drained.records += 1;
    }
    Ok(drained)
}

async fn settle(
    line: &dyn Line,
    backup: &dyn Backup,
    shelf: &Shelf,
    record: JournalRecord,
) -> Result<usize, DrainError> {
    let Ok(written) = timeout(RECORD_TIMEOUT, backup.write_all(shelf, &record.changes)).await else {
        let seconds = RECORD_TIMEOUT.as_secs();
        return Err(
            BackupError::Unavailable(format!("it took longer than {seconds} s for one record")).into(),
        );
    };
    written?;
    let ended: Vec<_> = record.changes.iter().filter_map(Change::ending).collect();
    line.settle(&shelf.queue, &[record.key], &ended).await?;
    Ok(record.changes.len())
}
