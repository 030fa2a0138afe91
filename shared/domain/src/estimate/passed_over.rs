//! How many entries a line passes over: their visitors were called and did not check in.
//!
//! Of the entries now in line, some visitors have gone without a word. The line shows this only when
//! their places come to the head. The longer visitors have waited when their turns come, the more of
//! them have gone. A crowd that came at once therefore loses more and more visitors, and a line with
//! steady arrivals always the same share. Nothing shows beforehand which of the two it is, so the
//! forecast expects half of that growth, and its range allows for none and for more than all of it.

use super::{observed_line::ObservedLine, step_grid::seconds_from_ms};

/// The weight of prior knowledge, in turns.
const PRIOR_WEIGHT: f64 = 4.0;
/// At most this share of the turns goes to entries that came back ahead of others.
const PER_TURN_MIN: f64 = -0.5;
/// A visitor who goes after being called is still present at the turn, and becomes a no-show. So those
/// who are passed over went this long before their turns, in seconds.
const CALLED_SECONDS: f64 = 60.0;
/// The shortest time in which visitors may have gone, in seconds.
const GOING_SECONDS_MIN: f64 = 30.0;
/// Before any turn, the error is that of this many turns.
const PRIOR_TURNS: f64 = 20.0;

// The following values were fitted to simulations: see docs/adr/0012-wait-estimate.md.

/// The most by which the number grows.
const GROWTH_MAX: f64 = 0.1;
/// The share of the growth that is expected, and the one of the optimistic case.
const EXPECTED_GROWTH_SHARE: f64 = 0.5;
const OPTIMISTIC_GROWTH_SHARE: f64 = 1.5;
/// By how much the number may be higher in any case.
const DRIFT: f64 = 0.01;
/// Of visitors who have waited for no time yet, so many may go per second, and after so many seconds of waiting half as many:
/// then those who go begin to show at the head.
const UNSEEN_PER_SECOND: f64 = 0.001;
const UNSEEN_HALVED_SECONDS: f64 = 60.0;

/// How many entries a line passes over for each one that it serves. Below zero if more entries come
/// back ahead of others.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PassedOver {
    /// Whether visitors have to check in, and a window showed who was passed over.
    is_possible: bool,
    per_turn: f64,
    /// By how much it grows per second if visitors go at a steady rate.
    growth_per_second: f64,
    growth_share: f64,
    /// By how much more it may grow per second, before the head shows it.
    unseen_per_second: f64,
    /// How long the entry waited that went past the head last, in seconds.
    waited_seconds: f64,
    /// How long ago it was observed, on average, in seconds.
    seconds_ago: f64,
    /// The turns in which it was observed.
    turns: f64,
}

impl PassedOver {
    /// The number observed in a window of `seconds`, with `self` as prior knowledge.
    pub(super) fn update_from_window(
        self,
        observed: &ObservedLine,
        passed_over: f64,
        turns: f64,
        seconds: f64,
    ) -> Self {
        if !observed.has_presence {
            return Self::default();
        }
        let per_turn = (passed_over + PRIOR_WEIGHT * self.per_turn) / (turns + PRIOR_WEIGHT);
        let seconds_ago = seconds / 2.0;
        let waited_seconds = seconds_from_ms(observed.head_waited_ms);
        let going_seconds = waited_seconds - seconds_ago - CALLED_SECONDS;
        Self {
            is_possible: true,
            per_turn: per_turn.max(PER_TURN_MIN),
            growth_per_second: per_turn.max(0.0) / going_seconds.max(GOING_SECONDS_MIN),
            growth_share: EXPECTED_GROWTH_SHARE,
            unseen_per_second: 0.0,
            waited_seconds,
            seconds_ago,
            turns,
        }
    }

    /// How many positions the line moves for each entry that it serves, in so many seconds from now.
    pub(super) fn positions_per_turn(self, seconds: f64) -> f64 {
        let grown = (self.growth_per_second * (self.seconds_ago + seconds)).min(GROWTH_MAX);
        let unseen = (self.unseen_per_second * seconds).min(GROWTH_MAX);
        1.0 + self.per_turn + (grown * self.growth_share).max(unseen)
    }

    pub(super) fn to_optimistic(self, chance_factor: f64) -> Self {
        if !self.is_possible {
            return self;
        }
        Self {
            per_turn: self.per_turn + chance_factor * self.standard_error() + DRIFT,
            growth_share: OPTIMISTIC_GROWTH_SHARE,
            unseen_per_second: UNSEEN_PER_SECOND / (1.0 + self.waited_seconds / UNSEEN_HALVED_SECONDS),
            ..self
        }
    }

    pub(super) fn to_pessimistic(self, chance_factor: f64) -> Self {
        if !self.is_possible {
            return self;
        }
        let fewer = self.per_turn - chance_factor * self.standard_error();
        Self {
            // Only entries that come back make it negative.
            per_turn: fewer.max(self.per_turn.min(0.0)),
            growth_share: 0.0,
            ..self
        }
    }

    /// The error that a small number of turns leaves open.
    fn standard_error(self) -> f64 {
        let turns = self.turns + PRIOR_TURNS;
        ((self.per_turn.max(0.0) + 1.0 / turns) / turns).sqrt()
    }
}
