//! What the line shows of itself for a forecast.

use super::windows::{LineCounts, MovingAverages};
use crate::pace::Pace;

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
    /// Entries that are promoted at the next tick.
    pub(super) fn promotable_now(&self) -> u64 {
        self.tokens.min(self.capacity.saturating_sub(self.taken))
    }
}
