//! From what a line counted to when a turn comes.
//!
//! See `docs/decisions/estimate.md`.

use std::sync::OnceLock;

use super::{
    Averages, Counted, Estimate,
    curve::{Course, Curve, Ends, drained_after},
    rates::{PRIOR, Rates, per_second},
};
use crate::pace::Pace;

/// That somebody may stay to the end says little of how long people do.
const PRIOR_STAY: f64 = 0.1;
/// So many slots must have come free in the long window before anybody is told when the next ones will; and where that
/// saw them fill, such a part of them.
const SEEN_MIN: f64 = 4.0;
const SEEN_PART_MIN: f64 = 0.3;
/// Nobody is told of more than a day: whatever is expected then will have changed.
const TOLD_SECONDS_MAX: f64 = 86_400.0;

// What follows was fitted: see docs/decisions/estimate.md.

/// By how much sooner it may be where the slots were just filled, and did not turn over yet.
const YOUTH: f64 = 0.25;
/// The most that a difference of the windows says, and for how many seconds a burst lasts.
const SWING_MAX: f64 = 2.0;
const SWING_SECONDS: f64 = 120.0;
/// A tick comes each second: so much sooner or later than any rate says. Seconds.
const TICK_SECONDS: f64 = 0.4;

/// What a forecast has to go by.
#[derive(Debug, Clone)]
pub struct Observed {
    /// The pace in force.
    pub pace: Pace,
    /// Entries that the pace lets go now.
    pub tokens: u64,
    /// The most ready and active at once.
    pub capacity: u64,
    /// In line.
    pub waiting: u64,
    /// Ready and active.
    pub taken: u64,
    /// Of these, active.
    pub active: u64,
    /// In how many milliseconds their sessions end, as in [`View`](vestibule_line::View::session_ends_in_ms).
    pub session_ends_in_ms: Vec<u64>,
    /// How long somebody holds a slot who never claims it.
    pub claim_ms: u64,
    /// How long one holds it who stays to the end.
    pub session_ms: u64,
    /// Turns that were claimed so far.
    pub claimed: u64,
    /// Turns that nobody claimed.
    pub no_shows: u64,
    /// What is counted now.
    pub now: Counted,
    /// What was counted lately.
    pub averages: Averages,
}

impl Observed {
    /// Entries that go at the next tick.
    pub(super) fn at_once(&self) -> u64 {
        self.tokens.min(self.capacity.saturating_sub(self.taken))
    }

    /// Which part of the turns nobody claims.
    #[allow(clippy::cast_precision_loss)]
    fn no_show_rate(&self) -> f64 {
        let turns = (self.no_shows + self.claimed) as f64 + PRIOR;
        self.no_shows as f64 / turns
    }

    /// How long somebody holds a slot before anybody was seen to go: a no-show as long as there is to claim it, everybody
    /// else to the end.
    #[allow(clippy::cast_precision_loss)]
    fn stay_seconds(&self) -> f64 {
        let no_shows = self.no_show_rate();
        (no_shows * self.claim_ms as f64 + (1.0 - no_shows) * self.session_ms as f64) / 1_000.0
    }
}

/// When turns come, as far as one can see.
#[derive(Debug, Clone)]
pub struct Forecast {
    pace: f64,
    /// Entries that go at the next tick.
    at_once: f64,
    /// Slots that are not taken.
    free: u64,
    /// Whether slots come free faster than the pace fills them, even if everybody stays to the end.
    never_full: bool,
    course: Course,
    /// By how much sooner it may be for slots that were just filled.
    youth: f64,
    observed: Observed,
    // Whoever paces polls asks for the first one alone.
    expected: OnceLock<Curve>,
    sooner: OnceLock<Curve>,
    later: OnceLock<Curve>,
    /// Entries served a second, as seen lately; `None` where too little was.
    seen: Option<f64>,
}

impl Forecast {
    /// Takes the averages.
    #[allow(clippy::cast_precision_loss)]
    pub fn of(observed: Observed) -> Self {
        let pace = per_second(observed.pace);
        let stay_seconds = observed.stay_seconds();
        let prior = Rates {
            served: pace,
            early: 1.0 / stay_seconds,
            raw: 1.0 / stay_seconds,
            no_shows: observed.no_show_rate(),
            turns: 0.0,
            leaving: 0.0,
            freed: 0.0,
            freed_early: 0.0,
            cycles: 0.0,
        };
        let averages = &observed.averages;
        let long = prior.after(&observed, &averages.long, averages.line_since_ms, PRIOR_STAY);
        let short = long.after(&observed, &averages.short, averages.moving_since_ms, PRIOR);
        let long = Rates {
            early: if long.cycles.is_finite() && short.cycles.is_infinite() {
                short.early
            } else {
                long.early
            },
            ..long
        };
        let course = Course {
            near: short,
            far: long,
            ends: Ends::Even,
        };
        let free = observed.capacity.saturating_sub(observed.taken);
        Self {
            pace,
            at_once: observed.at_once() as f64,
            free,
            never_full: pace * stay_seconds <= observed.capacity as f64 && free > 0,
            course,
            youth: YOUTH * (-long.cycles).exp(),
            expected: OnceLock::new(),
            sooner: OnceLock::new(),
            later: OnceLock::new(),
            seen: seen(&observed),
            observed,
        }
    }

    /// Entries served a second, as seen in the last minute or two; `None` before anything was.
    pub fn seen_per_second(&self) -> Option<f64> {
        self.seen
    }

    /// Entries served a second, as expected for the next ones.
    pub fn per_second(&self) -> f64 {
        if self.turns_over() {
            self.expected().next_rate
        } else {
            self.course.near.served
        }
    }

    /// The expected wait of one position, in milliseconds: what polls are paced by, so there is one always. Where nobody
    /// knows yet how fast slots come free it goes by the pace alone: whoever comes back too soon loses nothing.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss
    )]
    pub fn eta_ms(&self, position: u64) -> u64 {
        let seconds = if self.turns_over() {
            self.expected().seconds(position)
        } else {
            drained_after(position as f64 - self.at_once, self.course.near.served, 0.0)
        };
        // Too far for the number is far enough.
        (seconds * 1_000.0).ceil() as u64
    }

    /// The range in which the turn of one position comes, four times of five; `None` where nobody can say: the place is
    /// beyond the room there is, and too few were seen to make room.
    pub fn range(&self, position: u64) -> Option<Estimate> {
        let is_room = self.is_room(position);
        if !is_room && !self.turns_over() {
            return None;
        }
        let seconds = self.expected().seconds(position);
        let is_steady = is_room && self.is_at_pace();
        let unsteady = if is_steady {
            0.0
        } else {
            self.unsteady_seconds(seconds)
        };
        let around = TICK_SECONDS + unsteady;
        let low = self.sooner().seconds(position).min(seconds) - around;
        let high = self.later().seconds(position).max(seconds) + around;
        (high <= TOLD_SECONDS_MAX).then(|| Estimate::between(low.max(0.0), high))
    }

    fn expected(&self) -> &Curve {
        self.expected
            .get_or_init(|| Curve::of(&self.observed, &self.course))
    }

    fn sooner(&self) -> &Curve {
        let sooner = |rates: Rates| rates.sooner(self.pace, self.youth);
        let course = || self.course.each(Ends::Sooner, sooner);
        self.sooner.get_or_init(|| Curve::of(&self.observed, &course()))
    }

    fn later(&self) -> &Curve {
        let later = |rates: Rates| rates.later(self.pace);
        let course = || self.course.each(Ends::Later, later);
        self.later.get_or_init(|| Curve::of(&self.observed, &course()))
    }

    /// Whether enough slots were seen to come free.
    fn turns_over(&self) -> bool {
        self.never_full || (self.course.far.freed >= SEEN_MIN && self.course.far.cycles >= SEEN_PART_MIN)
    }

    /// Whether nothing but the pace keeps the line from moving faster.
    fn is_at_pace(&self) -> bool {
        self.course.near.is_at(self.pace) && self.course.far.is_at(self.pace)
    }

    /// Whether there is room for a position even if nobody ever goes, or if everybody stays to the end.
    fn is_room(&self, position: u64) -> bool {
        self.never_full || position <= self.free
    }

    /// Where those who go early go in bursts, one window sees more than the other: by how much a turn may be off for that.
    fn unsteady_seconds(&self, seconds: f64) -> f64 {
        let chance =
            (1.0 / (self.course.near.freed_early + 1.0) + 1.0 / (self.course.far.freed_early + 1.0)).sqrt();
        let swing = (self.course.near.raw / self.course.far.raw)
            .ln()
            .abs()
            .min(SWING_MAX)
            - chance;
        let early = self.course.far.freed_early / self.course.far.freed.max(1.0);
        swing.max(0.0) * early * seconds.min(SWING_SECONDS)
    }
}

#[allow(clippy::cast_precision_loss)]
fn seen(observed: &Observed) -> Option<f64> {
    let window = &observed.averages.short;
    let seconds = observed.now.at_ms.saturating_sub(window.before.at_ms) as f64 / 1_000.0;
    let served = observed.now.served.saturating_sub(window.before.served) as f64;
    (window.before.at_ms > 0 && seconds >= 10.0 && served > 0.0).then_some(served / seconds)
}

#[cfg(test)]
mod tests;
