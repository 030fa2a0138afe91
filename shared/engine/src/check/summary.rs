//! How a consistency check runs, what it found, and why it stopped.

use std::{ops::AddAssign, time::Duration};

use vestibule_backup::BackupError;
use vestibule_line::LineError;

use crate::flush::FlushError;

/// How much load a check puts on the line, and how much memory it uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckConfig {
    /// The pause between two pages of the line, so that other requests run in between.
    pub page_pause: Duration,
    /// The pause between the first read and the second. It is longer than a
    /// [write](crate::write_through::WRITE_DEADLINE) may take. What still differs at the second
    /// read is therefore not a write that is under way.
    pub second_read_after: Duration,
    /// The most entries held in memory at once. A longer queue is checked in several passes, and
    /// each pass reads the line anew.
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CheckSummary {
    /// Entries with a place in the line.
    pub checked_line: u64,
    /// Live entries in the backup.
    pub checked_table: u64,
    /// Places that the backup did not have, and that the check wrote.
    pub written: u64,
    /// Places that the backup had in another form than the line, and that the check wrote again.
    pub rewritten: u64,
    /// Places for which the backup showed a later visit or state, which the line took over.
    pub adopted: u64,
    /// Places that the line had lost, and that the check restored.
    pub restored: u64,
    /// Ends that the backup may not have had. The check wrote those that it lacked, unless the
    /// entry had entered again since; the line then settled them.
    pub ended: u64,
    /// Places that the line still had after their end, and that the check removed.
    pub removed: u64,
    /// Differences left to the next check, because a change was under way or neither side was
    /// certainly right.
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

impl CheckSummary {
    /// Adds what the repair of one entry did.
    pub(super) fn add_entry(&mut self, one: Self) {
        *self += Self {
            next_shard: self.next_shard,
            ..one
        };
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
    /// The journal holds more than could be flushed in time. Until it is flushed, it may explain
    /// any difference.
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
