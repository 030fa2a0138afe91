//! How many visits of a queue began, ended, and so on.

use serde::{Deserialize, Serialize};

/// Totals of a queue. Those of a line count since it created or restored the queue, those of a tally since the generation
/// began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct QueueTotals {
    /// New visits.
    pub entered: u64,
    /// New visits that became active at once by the fast track, or because the mode is `passthrough`.
    pub fast_tracked: u64,
    /// Visits that became active past the line, although the fast track was shut.
    pub bypassed: u64,
    /// Entries that went from waiting to ready.
    pub promoted: u64,
    /// Entries that went from ready to active.
    pub claimed: u64,
    /// Visits that were completed.
    pub completed: u64,
    /// Visits that the visitor ended.
    pub left: u64,
    /// Visits that an operator ended.
    pub evicted: u64,
    /// Sessions that expired.
    pub expired: u64,
    /// Promoted entries whose visitors did not claim in time.
    pub no_shows: u64,
    /// Waiting entries whose visitors were absent for too long.
    pub absences: u64,
    /// Waiting entries whose waits lasted longer than the queue allows.
    pub overlong_waits: u64,
    /// Waiting entries that ended because the queue was finished.
    pub dismissed: u64,
    /// Visits that went on after they had been counted as ended: visitors who came back after a
    /// missed turn, and entries that the backup had in a later state.
    pub returned: u64,
}

impl QueueTotals {
    /// The visits that took a slot: by the fast track, past the line, and by promotion.
    pub fn served(&self) -> u64 {
        self.fast_tracked + self.bypassed + self.promoted
    }

    /// The visits that became active: by the fast track, past the line, and by a claim.
    pub fn let_in(&self) -> u64 {
        self.fast_tracked + self.bypassed + self.claimed
    }

    /// The visits that began or returned, less those that ended, less the `entries` in the line. It is 0 as long as the
    /// line loses no change.
    pub fn compute_imbalance(&self, entries: u64) -> i64 {
        let begun = self.entered + self.returned;
        let waits = self.absences + self.overlong_waits + self.dismissed;
        let ended = waits + self.no_shows + self.expired + self.completed + self.left + self.evicted;
        begun.cast_signed() - (ended + entries).cast_signed()
    }

    /// All totals by name.
    pub fn fields(&self) -> [(&'static str, u64); 14] {
        [
            ("entered", self.entered),
            ("fast_tracked", self.fast_tracked),
            ("bypassed", self.bypassed),
            ("promoted", self.promoted),
            ("claimed", self.claimed),
            ("completed", self.completed),
            ("left", self.left),
            ("evicted", self.evicted),
            ("expired", self.expired),
            ("no_shows", self.no_shows),
            ("absences", self.absences),
            ("overlong_waits", self.overlong_waits),
            ("dismissed", self.dismissed),
            ("returned", self.returned),
        ]
    }

    /// Reads each total by its name.
    ///
    /// # Errors
    /// The error of the first total that cannot be read.
    pub fn try_from_fields<E>(mut read: impl FnMut(&'static str) -> Result<u64, E>) -> Result<Self, E> {
        Ok(Self {
            entered: read("entered")?,
            fast_tracked: read("fast_tracked")?,
            bypassed: read("bypassed")?,
            promoted: read("promoted")?,
            claimed: read("claimed")?,
            completed: read("completed")?,
            left: read("left")?,
            evicted: read("evicted")?,
            expired: read("expired")?,
            no_shows: read("no_shows")?,
            absences: read("absences")?,
            overlong_waits: read("overlong_waits")?,
            dismissed: read("dismissed")?,
            returned: read("returned")?,
        })
    }

    /// These totals and those that follow them.
    #[must_use]
    pub fn plus(&self, later: &Self) -> Self {
        Self {
            entered: self.entered + later.entered,
            fast_tracked: self.fast_tracked + later.fast_tracked,
            bypassed: self.bypassed + later.bypassed,
            promoted: self.promoted + later.promoted,
            claimed: self.claimed + later.claimed,
            completed: self.completed + later.completed,
            left: self.left + later.left,
            evicted: self.evicted + later.evicted,
            expired: self.expired + later.expired,
            no_shows: self.no_shows + later.no_shows,
            absences: self.absences + later.absences,
            overlong_waits: self.overlong_waits + later.overlong_waits,
            dismissed: self.dismissed + later.dismissed,
            returned: self.returned + later.returned,
        }
    }
}
