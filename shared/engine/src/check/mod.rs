//! The consistency check: compares the line with the backup and repairs differences.
//! `docs/decisions/consistency-check.md` has the rules and their reasons.
//!
//! [`check`] handles some of the shards and returns the shard at which the next call begins. So the caller's loop may
//! stop between two calls.

mod differences;
mod repair;

use std::{ops::AddAssign, time::Duration};

use serde::Serialize;
use tokio::time::{Instant, sleep};
use vestibule_backup::{Backup, BackupError, EntryPartition};
use vestibule_domain::id::{QueueId, SHARD_COUNT};
use vestibule_line::{Line, LineError};

use self::{
    differences::find_differences,
    repair::{Repairer, find_journaled_entries},
};
use super::{
    flush::{FlushError, flush_journal},
    restore_entry::RestoreEntryError,
};

/// The most journal records that one flush before a read takes.
const FLUSH_RECORDS_MAX: usize = 100;
/// The longest that flushing before a read may take.
const FLUSH_TIME_MAX: Duration = Duration::from_secs(20);

/// How much load a check puts on the line, and how much memory it uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckConfig {
    /// The pause between two pages of the line, so that other requests run in between.
    pub page_pause: Duration,
    /// The pause between the first read and the second. It is longer than a
    /// [write](super::write_through::WRITE_DEADLINE) may take. What still differs at the second read is therefore not a
    /// write that is under way.
    pub second_read_after: Duration,
    /// The most entries held in memory at once. A longer queue is checked in several passes, and each pass reads the
    /// line anew.
    pub entries_per_pass: u64,
}

impl Default for CheckConfig {
    fn default() -> Self {
        Self {
            page_pause: Duration::from_millis(5),
            second_read_after: Duration::from_secs(3),
            entries_per_pass: 200_000,
        }
    }
}

/// What a check compared and what it repaired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct CheckSummary {
    /// Entries with a place in the line.
    pub checked_line: u64,
    /// Live entries in the backup.
    pub checked_table: u64,
    /// Places that the backup did not have, and that the check wrote.
    pub written: u64,
    /// Places that the backup had in another form than the line, and that the check wrote again.
    pub rewritten: u64,
    /// Places for which the backup showed a later state, which the line took over.
    pub adopted: u64,
    /// Places that the line had lost, and that the check restored.
    pub restored: u64,
    /// Ends that the line still remembered. The check wrote those that the backup did not have; the line then forgot
    /// them.
    pub ended: u64,
    /// Places that the line still had after their end, and that the check removed.
    pub removed: u64,
    /// Differences left to the next check, because a change was under way or neither side was certainly right.
    pub skipped: u64,
    /// The shard at which the next pass begins; `None` after the last pass.
    pub next_shard: Option<u8>,
}

impl CheckSummary {
    /// The number of differences that were repaired.
    pub fn repaired_count(&self) -> u64 {
        self.written + self.rewritten + self.adopted + self.restored + self.ended + self.removed
    }
}

impl AddAssign for CheckSummary {
    /// Adds the next pass to the passes before it.
    fn add_assign(&mut self, next: Self) {
        self.checked_line += next.checked_line;
        self.checked_table += next.checked_table;
        self.written += next.written;
        self.rewritten += next.rewritten;
        self.adopted += next.adopted;
        self.restored += next.restored;
        self.ended += next.ended;
        self.removed += next.removed;
        self.skipped += next.skipped;
        self.next_shard = next.next_shard;
    }
}

/// Why a check stopped. The repairs made until then stay, and the check may be repeated.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// The line failed to answer.
    #[error(transparent)]
    Line(#[from] LineError),
    /// The backup failed to answer.
    #[error(transparent)]
    Backup(#[from] BackupError),
    /// The line has another generation of the queue than the caller.
    #[error("the queue was reset during the consistency check: run the check again")]
    Reset,
    /// The journal holds more than could be flushed in time. Until it is flushed, it may explain any difference.
    #[error("the backup is behind: the promoter has to flush the journal before a consistency check can run")]
    JournalBehind,
}

impl From<FlushError> for CheckError {
    fn from(error: FlushError) -> Self {
        match error {
            FlushError::Line(error) => error.into(),
            FlushError::Backup(error) => error.into(),
        }
    }
}

impl From<RestoreEntryError> for CheckError {
    fn from(error: RestoreEntryError) -> Self {
        match error {
            RestoreEntryError::Line(error) => error.into(),
            RestoreEntryError::Backup(error) => error.into(),
        }
    }
}

/// Compares the line with the backup and repairs the differences, from one shard on. It covers all remaining shards of
/// a short queue, and some of them of a long one. Any number of callers may do so at once, beside visitors and
/// promoters.
///
/// # Errors
/// [`CheckError`] at the first failure.
pub async fn check_queue(
    line: &dyn Line,
    backup: &dyn Backup,
    shelf: &EntryPartition,
    from_shard: u8,
    config: CheckConfig,
) -> Result<CheckSummary, CheckError> {
    let view = line.queue_view(&shelf.queue).await?;
    if view.configuration.generation != shelf.generation {
        return Err(CheckError::Reset);
    }
    let entries = view.waiting + view.ready + view.active + view.unsettled_ends;
    let end = from_shard
        .saturating_add(shards_per_pass(entries, config.entries_per_pass))
        .min(SHARD_COUNT);
    let mut checked = CheckSummary {
        next_shard: Some(end).filter(|end| *end < SHARD_COUNT),
        ..CheckSummary::default()
    };

    flush_before_read(line, backup, shelf).await?;
    let sights = find_differences(line, backup, shelf, from_shard..end, config, &mut checked).await?;
    if !sights.is_empty() {
        sleep(config.second_read_after).await;
        flush_before_read(line, backup, shelf).await?;
        let mender = Repairer {
            line,
            backup,
            shelf,
            epoch: view.configuration.epoch,
            journaled: find_journaled_entries(line, &shelf.queue).await?,
        };
        mender.repair_all(sights, &mut checked).await?;
    }
    line.record_check_progress(&shelf.queue, end).await?;
    log_summary(&shelf.queue, &checked);
    Ok(checked)
}

/// Flushes the journal, because a change that is not in the backup yet looks like a difference.
async fn flush_before_read(
    line: &dyn Line,
    backup: &dyn Backup,
    shelf: &EntryPartition,
) -> Result<(), CheckError> {
    let until = Instant::now() + FLUSH_TIME_MAX;
    while Instant::now() < until {
        if flush_journal(line, backup, shelf, FLUSH_RECORDS_MAX, until)
            .await?
            .records
            < FLUSH_RECORDS_MAX
        {
            return Ok(());
        }
    }
    Err(CheckError::JournalBehind)
}

fn log_summary(queue: &QueueId, checked: &CheckSummary) {
    if checked.repaired_count() == 0 {
        tracing::debug!(
            event = "queue.checked", %queue, ?checked,
            "the consistency check found nothing to repair"
        );
        return;
    }
    let CheckSummary {
        written,
        rewritten,
        adopted,
        restored,
        ended,
        removed,
        skipped,
        ..
    } = checked;
    tracing::warn!(
        event = "queue.repaired", %queue, written, rewritten, adopted, restored, ended, removed, skipped,
        "the consistency check repaired differences between Redis and DynamoDB"
    );
}

/// How many shards, at least one, hold about `at_once` of all entries.
fn shards_per_pass(entries: u64, at_once: u64) -> u8 {
    let shards = at_once * u64::from(SHARD_COUNT) / entries.max(1);
    u8::try_from(shards.clamp(1, SHARD_COUNT.into())).unwrap_or(SHARD_COUNT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_queue_is_checked_in_several_passes() {
        assert_eq!(shards_per_pass(0, 200_000), 64);
        assert_eq!(shards_per_pass(200_000, 200_000), 64);
        assert_eq!(shards_per_pass(200_001, 200_000), 63);
        assert_eq!(shards_per_pass(1_000_000, 200_000), 12);
        assert_eq!(
            shards_per_pass(u64::MAX, 200_000),
            1,
            "a check always makes progress"
        );
        assert_eq!(shards_per_pass(1_000, 0), 1);
    }
}
