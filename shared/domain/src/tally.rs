//! The tally of a queue: what happened since its generation began. The report shows it.
//!
//! The line counts. Every few seconds the tally is stored in the backup, and a restore puts the stored one back, so that
//! no total falls when the line is lost. `docs/adr/0042-tally-and-report.md` has the reasons.

mod histogram;
mod totals;

use serde::{Deserialize, Serialize};

use super::{change::Version, id::Salt};

pub use self::{
    histogram::{Histogram, HistogramBucket, RELATIVE_ERROR_PER_10000},
    totals::QueueTotals,
};

/// What happened in a queue since its generation began.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Tally {
    /// How many visits began, ended, and so on.
    pub totals: QueueTotals,
    /// How long the promoted entries had waited.
    pub waits: Histogram,
    /// How long the sessions lasted that ended, in whatever way. One whose beginning is not known is not counted.
    pub stays: Histogram,
    /// The most entries in line.
    pub peak: PeakWaiting,
}

/// The most entries that were in line at one tick, absent ones not counted, and when that was first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct PeakWaiting {
    /// The number of entries.
    pub waiting: u64,
    /// When, in Unix milliseconds; 0 if no entry ever waited at a tick.
    pub at_ms: u64,
}

/// The tally of a line at one moment, and of which life of the queue it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TallySnapshot {
    /// The generation of the queue.
    pub generation: u32,
    /// The salt of the queue. A queue that was deleted and created again has another one.
    pub salt: Salt,
    /// The version of the last change that is counted.
    pub version: Version,
    /// When the snapshot was taken, in Unix milliseconds.
    pub at_ms: u64,
    /// What was counted.
    pub tally: Tally,
}

impl TallySnapshot {
    /// Whether this snapshot replaces another one of the same queue and generation. The later version counts, an equal one
    /// is a repeated write, and the
    /// epoch is a fencing token: a line that was restored elsewhere since then comes too late. A queue that was created
    /// again replaces the former one.
    pub fn supersedes(&self, other: &Self) -> bool {
        !self.salt.is_of_same_generation(other.salt) || self.version >= other.version
    }

    /// Whether the snapshot is of this life of the queue.
    pub fn is_of(&self, generation: u32, salt: Salt) -> bool {
        self.generation == generation && self.salt.is_of_same_generation(salt)
    }
}
