//! The consistency check: compares the line with the backup and repairs differences.
//! `docs/decisions/consistency-check.md` has the rules and their reasons.
//!
//! [`check`] handles some of the shards and returns the shard at which the next call begins. So the caller's loop may
//! stop between two calls.

mod differences;
mod mend;

use std::{ops::AddAssign, time::Duration};

use serde::Serialize;
use tokio::time::{Instant, sleep};
use vestibule_backup::{Backup, BackupError, Shelf};
use vestibule_domain::id::{QueueId, SHARDS};
use vestibule_line::{Line, LineError};

use self::{
    differences::differences,
    mend::{Mender, unsettled},
};
use super::{
    drain::{DrainError, drain},
    revive::ReviveError,
};

/// The most journal records that one flush before a read takes.
const RECORDS: usize = 100;
/// The longest that flushing before a read may take.
const DRAIN_TIME: Duration = Duration::from_secs(20);

/// How much load a check puts on the line, and how much memory it uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Manner {
    /// The pause between two pages of the line, so that other requests run in between.
    pub page_pause: Duration,
    /// The pause between the first read and the second. It is longer than a
    /// [write](super::write_through::WRITE_DEADLINE) may take. What still differs at the second read is therefore not a
    /// write that is under way.
    pub second_look_after: Duration,
    /// The most entries held in memory at once. A longer queue is checked in several passes, and each pass reads the
    /// line anew.
    pub entries_at_once: u64,
}

impl Default for Manner {
    fn default() -> Self {
        Self {
            page_pause: Duration::from_millis(5),
            second_look_after: Duration::from_secs(3),
            entries_at_once: 200_000,
        }
    }
}

/// What a check compared and what it repaired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Checked {
    /// Entries with a place in the line.
    pub checked_line: u64,
    /// Live entries in the backup.
    pub checked_table: u64,
    /// Places that the backup did not have, and that the check wrote.
    pub written: u64,
    /// Places that the backup had in another form than the line, and that the check wrote again.
    pub restated: u64,
    /// Places for which the backup showed a later state, which the line took over.
    pub moved_on: u64,
    /// Places that the line had lost, and that the check restored.
    pub revived: u64,
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

impl Checked {
    /// The number of differences that were repaired.
    pub fn mended(&self) -> u64 {
        self.written + self.restated + self.moved_on + self.revived + self.ended + self.removed
    }
}

impl AddAssign for Checked {
    /// Adds the next pass to the passes before it.
    fn add_assign(&mut self, next: Self) {
        self.checked_line += next.checked_line;
        self.checked_table += next.checked_table;
        self.written += next.written;
        self.restated += next.restated;
        self.moved_on += next.moved_on;
        self.revived += next.revived;
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
    Behind,
}

impl From<DrainError> for CheckError {
    fn from(error: DrainError) -> Self {
        match error {
            DrainError::Line(error) => error.into(),
            DrainError::Backup(error) => error.into(),
        }
    }
}

impl From<ReviveError> for CheckError {
    fn from(error: ReviveError) -> Self {
        match error {
            ReviveError::Line(error) => error.into(),
            ReviveError::Backup(error) => error.into(),
        }
    }
}

/// Compares the line with the backup and repairs the differences, from one shard on. It covers all remaining shards of
/// a short queue, and some of them of a long one. Any number of callers may do so at once, beside visitors and
/// promoters.
///
/// # Errors
/// [`CheckError`] at the first failure.
pub async fn check(
    line: &dyn Line,
    backup: &dyn Backup,
    shelf: &Shelf,
    from_shard: u8,
    manner: Manner,
) -> Result<Checked, CheckError> {
    let view = line.view(&shelf.queue).await?;
    if view.configuration.generation != shelf.generation {
        return Err(CheckError::Reset);
    }
    let entries = view.waiting + view.ready + view.active + view.ended;
    let end = from_shard
        .saturating_add(shards_at_once(entries, manner.entries_at_once))
        .min(SHARDS);
    let mut checked = Checked {
        next_shard: Some(end).filter(|end| *end < SHARDS),
        ..Checked::default()
    };

    catch_up(line, backup, shelf).await?;
    let sights = differences(line, backup, shelf, from_shard..end, manner, &mut checked).await?;
    if !sights.is_empty() {
        sleep(manner.second_look_after).await;
        catch_up(line, backup, shelf).await?;
        let mender = Mender {
            line,
            backup,
            shelf,
            epoch: view.configuration.epoch,
            unsettled: unsettled(line, &shelf.queue).await?,
        };
        mender.mend_all(sights, &mut checked).await?;
    }
    line.note_check(&shelf.queue, end).await?;
    tell(&shelf.queue, &checked);
    Ok(checked)
}

/// Flushes the journal, because a change that is not in the backup yet looks like a difference.
async fn catch_up(line: &dyn Line, backup: &dyn Backup, shelf: &Shelf) -> Result<(), CheckError> {
    let until = Instant::now() + DRAIN_TIME;
    while Instant::now() < until {
        if drain(line, backup, shelf, RECORDS, until).await?.records < RECORDS {
            return Ok(());
        }
    }
    Err(CheckError::Behind)
}

fn tell(queue: &QueueId, checked: &Checked) {
    if checked.mended() == 0 {
        tracing::debug!(
            event = "queue.checked", %queue, ?checked,
            "the consistency check found nothing to repair"
        );
        return;
    }
    let Checked {
        written,
        restated,
        moved_on,
        revived,
        ended,
        removed,
        skipped,
        ..
    } = checked;
    tracing::warn!(
        event = "queue.repaired", %queue, written, restated, moved_on, revived, ended, removed, skipped,
        "the consistency check repaired differences between Redis and DynamoDB"
    );
}

/// How many shards, at least one, hold about `at_once` of all entries.
fn shards_at_once(entries: u64, at_once: u64) -> u8 {
    let shards = at_once * u64::from(SHARDS) / entries.max(1);
    u8::try_from(shards.clamp(1, SHARDS.into())).unwrap_or(SHARDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_queue_is_gone_through_in_parts() {
        assert_eq!(shards_at_once(0, 200_000), 64);
        assert_eq!(shards_at_once(200_000, 200_000), 64);
        assert_eq!(shards_at_once(200_001, 200_000), 63);
        assert_eq!(shards_at_once(1_000_000, 200_000), 12);
        assert_eq!(
            shards_at_once(u64::MAX, 200_000),
            1,
            "a check always makes progress"
        );
        assert_eq!(shards_at_once(1_000, 0), 1);
    }
}
