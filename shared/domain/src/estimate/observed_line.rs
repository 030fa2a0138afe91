//! What the line shows of itself for a forecast.

use super::{
    step_grid::count_as_f64,
    windows::{LineCounts, MovingAverages},
};
use crate::{pace::Pace, poll_pacing::HOLD_MAX_MS};

/// The input of a forecast.
#[derive(Debug, Clone)]
pub struct ObservedLine {
    /// The pace in force.
    pub pace: Pace,
    /// Entries that the pace allows now.
    pub tokens: u64,
    /// The most entries that may be ready and active at once.
    pub capacity: u64,
    /// Entries in line.
    pub waiting: u64,
    /// Slots taken: entries that are ready or active.
    pub taken: u64,
    /// Active entries among them.
    pub active: u64,
    /// The time until active sessions end, in milliseconds, at fixed ranks, as in
    /// `QueueView::session_ends_in_ms`.
    pub session_ends_in_ms: Vec<u64>,
    /// How long an unclaimed turn holds a slot, in milliseconds.
    pub claim_ms: u64,
    /// How long a visitor who stays to the end of the session holds a slot, in milliseconds.
    pub session_ms: u64,
    /// Turns that were claimed so far.
    pub claimed: u64,
    /// Turns that were not claimed in time so far.
    pub no_shows: u64,
    /// Whether visitors have to check in, so that absent ones are passed over.
    pub has_presence: bool,
    /// How long the entry waited that went past the head last, in milliseconds; 0 if none did.
    pub head_waited_ms: u64,
    /// The current counts.
    pub counts: LineCounts,
    /// The moving averages.
    pub averages: MovingAverages,
}

impl ObservedLine {
    /// For how long the taken slots have been held without coming free, in seconds: the time since the last one did, or a
    /// part of it if the counts reach further back.
    pub(super) fn silent_seconds(&self) -> f64 {
        let before = &self.averages.long.previous_start;
        let held = self.counts.taken_seconds.saturating_sub(before.taken_seconds);
        let freed = self.counts.freed.saturating_sub(before.freed).max(0);
        count_as_f64(held) / count_as_f64(self.taken.max(1)) / (count_as_f64(freed.unsigned_abs()) + 1.0)
    }

    /// How many entries have their turns within one hold of their polls if all sessions end now.
    pub(super) fn first_turns(&self) -> u64 {
        let ticks = HOLD_MAX_MS.div_ceil(self.pace.interval_ms.max(1));
        self.capacity.min(self.pace.batch.saturating_mul(ticks))
    }

    /// Entries that are promoted at the next tick.
    pub(super) fn promotable_now(&self) -> u64 {
        self.tokens.min(self.capacity.saturating_sub(self.taken))
    }
}
