//! Comparing the line with the backup, and mending where they differ. The rules, and why these, are in
//! `docs/decisions/consistency-check.md`.
//!
//! [`check`] goes through some of the shards and says where the next ones begin: the loop around it stops when it has to.

mod differences;
mod mend;

use std::{ops::AddAssign, time::Duration};

use serde::Serialize;
use tokio::time::{Instant, sleep};

use self::{
    differences::differences,
    mend::{Mender, unsettled},
};
use super::{
    Backup, BackupError, Shelf,
    drain::{DrainError, drain},
    revive::ReviveError,
};
use crate::{
    domain::id::{QueueId, SHARDS},
    line::{Line, LineError},
};

/// How many journal records one drain before a look takes at a time.
const RECORDS: usize = 100;
/// How long a drain before a look may take.
const DRAIN_TIME: Duration = Duration::from_secs(20);

/// How gently a check goes about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Manner {
    /// Between two pages of the line, so that others come in between.
    pub page_pause: Duration,
    /// Between the first look and the second, which finds only what nobody is about to write: longer than a
    /// [write](super::write_through::WRITE_DEADLINE) takes.
    pub second_look_after: Duration,
    /// The most entries that are kept in mind at once. A longer queue is gone through in several parts, the line read
    /// anew for each.
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

/// What a check went through and what it mended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Checked {
    /// Entries that had a place in the line.
    pub checked_line: u64,
    /// Entries that were not gone in the backup.
    pub checked_table: u64,
    /// Places that the backup did not have: written.
    pub written: u64,
    /// Places that the backup had, but not as the line had them: written anew.
    pub restated: u64,
    /// Places that the backup had further along: the line took that over.
    pub moved_on: u64,
    /// Places that the line had lost: back.
    pub revived: u64,
    /// Ends that the backup did not have, or that the line remembered for nothing: written and forgotten.
    pub ended: u64,
    /// Places that the line still had after their end: dropped.
    pub removed: u64,
    /// Differences that were left to the next check: somebody was about to change them, or nobody can say who is right.
    pub skipped: u64,
    /// Where the next part begins; `None` where all of it is done.
    pub next_shard: Option<u8>,
}

impl Checked {
    /// How many differences were mended.
    pub fn mended(&self) -> u64 {
        self.written + self.restated + self.moved_on + self.revived + self.ended + self.removed
    }
}

impl AddAssign for Checked {
    /// Takes the next part to those before it.
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

/// Why a check stopped. What it mended by then is mended; it may be made again.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// The line gave no answer.
    #[error(transparent)]
    Line(#[from] LineError),
    /// The backup gave no answer.
    #[error(transparent)]
    Backup(#[from] BackupError),
    /// The line has the queue in another generation than the caller.
    #[error("the queue was reset meanwhile")]
    Reset,
    /// The journal is longer than what can be brought into the backup right now: it explains any difference.
    #[error("the backup is behind: its journal comes first")]
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

/// Compares the line with the backup and mends where they differ, from one shard on: all the rest of a queue that is not
/// too long, else a part of it. Any number of callers may do so at once, beside visitors and promoters.
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

/// What the line holds for the backup goes there first: it explains differences that are none.
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

/// How many shards hold about so many of all entries, at least one.
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
        assert_eq!(shards_at_once(u64::MAX, 200_000), 1, "it gets on whatever comes");
        assert_eq!(shards_at_once(1_000, 0), 1);
    }
}
