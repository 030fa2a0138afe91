//! The course of a line whose slots have not been seen to come free: what the settings say of it.
//!
//! Until visitors leave, nothing shows how long they stay. What is certain has two sides. A turn
//! comes no sooner than the pace allows, and no later than if every visitor takes the whole claim
//! time and the whole session. Between the two, the expected wait of an entry beyond the free slots
//! is `session_seconds * position / capacity` (DESIGN, section 8): by Little's law, a full queue in
//! which each visitor stays for the whole session frees `capacity / session_seconds` slots per
//! second. The pace must not stand in for it: at capacity 500 and a batch of 500 per second it would
//! tell 3,000 visitors to be back within seconds, and they would poll more often than every 3 s.

use super::{
    curve::{NEXT_RATE_SECONDS, seconds_until_empty},
    expected_rates::ExpectedRates,
    observed_line::ObservedLine,
    step_grid::count_as_f64,
};

/// The expected course while the slots come free at an assumed rate.
#[derive(Debug, Clone, Copy)]
pub(super) struct AssumedCourse {
    /// Entries that are promoted at the next tick.
    promotable_now: f64,
    /// Slots that are not taken; below zero if an operator lowered the capacity below those taken.
    free: f64,
    /// Entries per second that the pace serves.
    paced: f64,
    /// Slots per second that come free while all are taken.
    freed: f64,
    /// How many positions the line moves for each entry that it serves.
    positions_per_turn: f64,
}

impl AssumedCourse {
    /// The course of the observed line. A taken slot is held for `stay_seconds` on average, or for
    /// less if the first departures show that.
    pub(super) fn from_observed(observed: &ObservedLine, course: &ExpectedRates, stay_seconds: f64) -> Self {
        let (capacity, taken) = (count_as_f64(observed.capacity), count_as_f64(observed.taken));
        Self {
            promotable_now: count_as_f64(observed.promotable_now()),
            free: capacity - taken,
            paced: course.near.served,
            freed: capacity.max(taken) * course.far.early.max(1.0 / stay_seconds),
            positions_per_turn: course.near.passed_over.positions_per_turn(0.0),
        }
    }

    /// The expected time until a position is served, in seconds: the pace and the slots must both
    /// allow it.
    pub(super) fn seconds_until_served(&self, position: u64) -> f64 {
        let position = count_as_f64(position) / self.positions_per_turn;
        let paced = seconds_until_empty(position - self.promotable_now, self.paced, 0.0);
        paced.max(seconds_until_empty(position - self.free, self.freed, 0.0))
    }

    /// The expected rate: entries served per second in the next [`NEXT_RATE_SECONDS`].
    pub(super) fn next_rate(&self) -> f64 {
        let with_slots = self.free / NEXT_RATE_SECONDS + self.freed;
        self.paced.min(with_slots).max(0.0)
    }
}
