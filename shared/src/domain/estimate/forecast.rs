//! From what a line counted to when a turn comes.
//!
//! The line is taken for a stream through a vessel: slots fill at the pace until the capacity is taken, and from then on
//! one is served for each slot that comes free (Little's law: as many as are taken, by how long one is held). Those ahead
//! who leave are not served at all. See `docs/decisions/estimate.md`.

use super::{
    Averages, Counted, Estimate,
    rates::{PRIOR, Rates, drained_after, per_second, still_ahead},
};
use crate::domain::pace::Pace;

/// The next so many seconds go as the short window went, and what comes after them as the long one.
const NEAR_SECONDS: f64 = 60.0;
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
#[derive(Debug, Clone, Copy)]
pub struct Observed {
    /// The pace in force.
    pub pace: Pace,
    /// Entries that the pace lets go now.
    pub tokens: u64,
    /// The most ready and active at once.
    pub capacity: u64,
    /// Ready and active.
    pub taken: u64,
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

/// What is to come: by the short window, and then by the long one.
#[derive(Debug, Clone, Copy)]
struct Course {
    near: Rates,
    far: Rates,
}

/// When turns come, as far as one can see.
#[derive(Debug, Clone, Copy)]
pub struct Forecast {
    pace: f64,
    /// Entries that go at the next tick.
    at_once: f64,
    capacity: f64,
    taken: f64,
    /// Whether slots come free faster than the pace fills them, even if everybody stays to the end.
    never_full: bool,
    short: Rates,
    long: Rates,
    /// Entries served a second, as seen lately; `None` where too little was.
    seen: Option<f64>,
}

impl Forecast {
    /// Takes the averages.
    #[allow(clippy::cast_precision_loss)]
    pub fn of(observed: &Observed) -> Self {
        let pace = per_second(observed.pace);
        let (capacity, taken) = (observed.capacity as f64, observed.taken as f64);
        // Before anybody was seen to go: a no-show holds a slot as long as there is to claim it, everybody else to the end.
        let turns = (observed.no_shows + observed.claimed) as f64 + PRIOR;
        let no_shows = observed.no_shows as f64 / turns;
        let stay =
            (no_shows * observed.claim_ms as f64 + (1.0 - no_shows) * observed.session_ms as f64) / 1_000.0;
        let prior = Rates {
            served: pace,
            turnover: 1.0 / stay,
            raw: 1.0 / stay,
            leaving: 0.0,
            freed: 0.0,
            cycles: 0.0,
        };
        let averages = &observed.averages;
        let long = prior.after(observed, &averages.long, averages.line_since_ms, PRIOR_STAY);
        let short = long.after(observed, &averages.short, averages.moving_since_ms, PRIOR);
        let long = Rates {
            turnover: if long.cycles.is_finite() && short.cycles.is_infinite() {
                short.turnover
            } else {
                long.turnover
            },
            ..long
        };
        let (long, short) = (long.at_least(prior), short.at_least(prior));
        let free = observed.capacity.saturating_sub(observed.taken);
        Self {
            pace,
            at_once: observed.tokens.min(free) as f64,
            capacity,
            taken,
            never_full: pace * stay <= capacity && taken < capacity,
            short,
            long,
            seen: seen(observed),
        }
    }

    /// Entries served a second, as seen in the last minute or two; `None` before anything was.
    pub fn seen_per_second(&self) -> Option<f64> {
        self.seen
    }

    /// Entries served a second, as expected for the next ones.
    pub fn per_second(&self) -> f64 {
        if self.turns_over() && self.taken >= self.capacity {
            self.short.served.min(self.short.turnover * self.capacity)
        } else {
            self.short.served
        }
    }

    /// The expected wait of one position, in milliseconds: what polls are paced by, so there is one always. Where nobody
    /// knows yet how fast slots come free it goes by the pace alone: whoever comes back too soon loses nothing.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub fn eta_ms(&self, position: u64) -> u64 {
        let seconds = if self.turns_over() {
            self.wait_seconds(position, self.expected())
        } else {
            drained_after(self.ahead(position), self.short.served, 0.0)
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
        let expected = self.expected();
        let seconds = self.wait_seconds(position, expected);
        let youth = YOUTH * (-self.long.cycles).exp();
        let sooner = expected.each(|rates| rates.sooner(self.pace, youth));
        let later = expected.each(|rates| rates.later(self.pace));
        let is_steady = is_room && self.is_at_pace();
        let unsteady = if is_steady {
            0.0
        } else {
            self.unsteady_seconds(seconds)
        };
        let around = TICK_SECONDS + unsteady;
        let low = self.wait_seconds(position, sooner).min(seconds) - around;
        let high = self.wait_seconds(position, later).max(seconds) + around;
        (high <= TOLD_SECONDS_MAX).then(|| Estimate::between(low.max(0.0), high))
    }

    fn expected(&self) -> Course {
        Course {
            near: self.short,
            far: self.long,
        }
    }

    /// Whether enough slots were seen to come free.
    fn turns_over(&self) -> bool {
        self.never_full || (self.long.freed >= SEEN_MIN && self.long.cycles >= SEEN_PART_MIN)
    }

    /// Whether nothing but the pace keeps the line from moving faster.
    fn is_at_pace(&self) -> bool {
        self.short.is_at(self.pace) && self.long.is_at(self.pace)
    }

    /// Whether there is room for a position even if nobody ever goes, or if everybody stays to the end.
    #[allow(clippy::cast_precision_loss)]
    fn is_room(&self, position: u64) -> bool {
        self.never_full || position as f64 <= self.capacity - self.taken
    }

    /// Who has to go first, and does not at the next tick.
    #[allow(clippy::cast_precision_loss)]
    fn ahead(&self, position: u64) -> f64 {
        (position as f64 - self.at_once).max(0.0)
    }

    /// Where slots come free in bursts, one window sees more than the other: by how much a turn may be off for that.
    fn unsteady_seconds(&self, seconds: f64) -> f64 {
        let chance = (1.0 / (self.short.freed + 1.0) + 1.0 / (self.long.freed + 1.0)).sqrt();
        let swing = (self.short.raw / self.long.raw).ln().abs().min(SWING_MAX) - chance;
        swing.max(0.0) * seconds.min(SWING_SECONDS)
    }

    /// Seconds until a position is served.
    fn wait_seconds(&self, position: u64, course: Course) -> f64 {
        let now = Level {
            ahead: self.ahead(position),
            taken: (self.taken + self.at_once).min(self.capacity),
        };
        let near = self.served_after(now, course.near);
        if near <= NEAR_SECONDS {
            return near;
        }
        let then = self.level_after(now, course.near, NEAR_SECONDS);
        NEAR_SECONDS + self.served_after(then, course.far)
    }

    /// Seconds until nobody is ahead, at these rates all the time.
    fn served_after(&self, now: Level, rates: Rates) -> f64 {
        let full_after = self.full_after_seconds(now, rates);
        let filling = drained_after(now.ahead, rates.served, rates.leaving);
        if filling <= full_after {
            return filling;
        }
        let left = still_ahead(now.ahead, rates.served, rates.leaving, full_after);
        full_after + drained_after(left, rates.turnover * self.capacity, rates.leaving)
    }

    /// How it stands after so many seconds.
    fn level_after(&self, now: Level, rates: Rates, seconds: f64) -> Level {
        let filling = self.full_after_seconds(now, rates).min(seconds);
        let filled = still_ahead(now.ahead, rates.served, rates.leaving, filling);
        let full = rates.turnover * self.capacity;
        let level = rates.served / rates.turnover;
        Level {
            ahead: still_ahead(filled, full, rates.leaving, seconds - filling),
            taken: (level + (now.taken - level) * (-rates.turnover * seconds).exp()).min(self.capacity),
        }
    }

    /// Seconds until all slots are taken: `d taken / dt = served - turnover * taken`.
    fn full_after_seconds(&self, now: Level, rates: Rates) -> f64 {
        let level = rates.served / rates.turnover;
        if self.never_full || level <= self.capacity {
            return f64::INFINITY;
        }
        (((level - now.taken) / (level - self.capacity)).ln() / rates.turnover).max(0.0)
    }
}

/// How a line stands at a moment.
#[derive(Debug, Clone, Copy)]
struct Level {
    /// Who has to be served first.
    ahead: f64,
    /// Ready and active.
    taken: f64,
}

impl Course {
    fn each(self, with: impl Fn(Rates) -> Rates) -> Self {
        Self {
            near: with(self.near),
            far: with(self.far),
        }
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
