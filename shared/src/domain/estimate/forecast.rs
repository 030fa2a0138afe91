//! From what a line counted to when a turn comes.
//!
//! The line is taken for a stream through a vessel: slots fill at the pace until the capacity is taken, and from then on
//! one is served for each slot that comes free (Little's law: as many as are taken, by how long one is held). Those ahead
//! who leave are not served at all. See `docs/decisions/estimate.md`.

use super::{Counted, Estimate, Window};
use crate::domain::pace::Pace;

/// A turn nearer than this goes by the short window, and one further away than the other by the long one; in between by a
/// mixture. Seconds.
const NEAR_SECONDS: f64 = 60.0;
const FAR_SECONDS: f64 = 600.0;
/// What is known beforehand counts as much as so many events.
const PRIOR: f64 = 4.0;
/// So many slots must have come free in the long window before anybody is told when the next ones will.
const SEEN_MIN: f64 = 8.0;
/// Nobody is told of more than a day: whatever is expected then will have changed.
const TOLD_SECONDS_MAX: f64 = 86_400.0;

/// How far the pace that is kept may fall behind the one that was seen.
const PACE_LATE: f64 = 0.03;
/// How far turn-over may be from what was seen, beside what so few events leave open: to the sooner side, and the later.
const TURNOVER_SOONER: f64 = 0.10;
const TURNOVER_LATER: f64 = 0.10;
/// The part of its standard error by which so few events widen the range.
const CHANCE: f64 = 1.3;
/// A tick comes each second: so much sooner or later than any rate says. Seconds.
const TICK_SECONDS: f64 = 1.0;

// CAL-BEGIN
fn cal(i: usize, default: f64) -> f64 {
    static C: std::sync::LazyLock<Vec<f64>> = std::sync::LazyLock::new(|| {
        std::env::var("CAL").unwrap_or_default().split(',').filter_map(|s| s.parse().ok()).collect()
    });
    C.get(i).copied().unwrap_or(default)
}
// CAL-END

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
    /// Since when the line has moved at this pace; 0 where it does not.
    pub moving_since_ms: u64,
    /// One or two minutes.
    pub short: Window,
    /// Ten or twenty.
    pub long: Window,
}

/// Rates of one window, each per second.
#[derive(Debug, Clone, Copy)]
struct Rates {
    /// Entries served while the line moved, never above the pace.
    served: f64,
    /// Of one taken slot: that it comes free.
    turnover: f64,
    /// Of one entry in line: that it leaves.
    leaving: f64,
    /// How many slots came free.
    freed: f64,
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
        let pace = observed.pace.batch as f64 * 1_000.0 / observed.pace.interval_ms as f64;
        let (capacity, taken) = (observed.capacity as f64, observed.taken as f64);
        // Before anybody was seen to go: a no-show holds a slot as long as there is to claim it, everybody else to the end.
        let turns = (observed.no_shows + observed.claimed) as f64 + PRIOR;
        let no_shows = observed.no_shows as f64 / turns;
        let stay = (no_shows * observed.claim_ms as f64 + (1.0 - no_shows) * observed.session_ms as f64) / 1_000.0;
        let prior = Rates {
            served: pace,
            turnover: 1.0 / stay,
            leaving: 0.0,
            freed: 0.0,
        };
        let long = prior.after(observed, &observed.long, pace);
        let short = long.after(observed, &observed.short, pace);
        let free = observed.capacity.saturating_sub(observed.taken);
        Self {
            pace,
            at_once: observed.tokens.min(free) as f64,
            capacity,
            taken,
            never_full: pace * stay <= capacity && taken < capacity,
            short,
            long,
            seen: seen(observed, &observed.short),
        }
    }

    /// Entries served a second, as seen in the last minute or two; `None` before anything was.
    pub fn seen_per_second(&self) -> Option<f64> {
        self.seen
    }

    /// Entries served a second, as expected for the next ones.
    pub fn per_second(&self) -> f64 {
        if self.never_full || self.taken < self.capacity {
            self.short.served
        } else {
            self.short.served.min(self.short.turnover * self.capacity)
        }
    }

    /// The expected wait of one position, in milliseconds.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub fn eta_ms(&self, position: u64) -> u64 {
        // Too far for the number is far enough.
        (self.expected(position).1 * 1_000.0).ceil() as u64
    }

    /// The range in which the turn of one position comes, four times of five; `None` where nobody can say: the place is
    /// beyond the room there is, and too few were seen to make room.
    pub fn range(&self, position: u64) -> Option<Estimate> {
        let (way, seconds) = self.expected(position);
        let by_turnover = !self.fills_no_further(way, position);
        if by_turnover && self.long.freed < SEEN_MIN {
            return None;
        }
        let chance = cal(0,CHANCE) / (way.freed + 1.0).sqrt();
        let sooner = Rates {
            served: (way.served * (1.0 + chance)).min(self.pace),
            turnover: way.turnover * (1.0 + cal(1,TURNOVER_SOONER) + chance),
            ..way
        };
        let later = Rates {
            served: way.served * (1.0 - cal(3,PACE_LATE)),
            turnover: way.turnover / (1.0 + cal(2,TURNOVER_LATER) + chance),
            leaving: way.leaving * cal(4,0.5),
            ..way
        };
        let low = self.wait_seconds(position, sooner).min(seconds) - cal(5,TICK_SECONDS);
        let high = self.wait_seconds(position, later).max(seconds) + cal(5,TICK_SECONDS);
        (high <= TOLD_SECONDS_MAX).then(|| Estimate::between(low.max(0.0), high))
    }

    /// By which rates a position is reached, and when: what is near goes by the short window.
    fn expected(&self, position: u64) -> (Rates, f64) {
        let far = self.wait_seconds(position, self.long);
        let share = ((far - cal(7,NEAR_SECONDS)) / (cal(8,FAR_SECONDS) - cal(7,NEAR_SECONDS))).clamp(0.0, 1.0);
        let mut way = self.short.mixed(self.long, share);
        way.leaving *= cal(6,1.0);
        (way, self.wait_seconds(position, way))
    }

    /// Seconds until a position is served.
    #[allow(clippy::cast_precision_loss)]
    fn wait_seconds(&self, position: u64, way: Rates) -> f64 {
        let ahead = (position as f64 - self.at_once).max(0.0);
        let full_after = self.full_after_seconds(way);
        let filling = drained_after(ahead, way.served, way.leaving);
        if filling <= full_after {
            return filling;
        }
        let left = still_ahead(ahead, way.served, way.leaving, full_after);
        full_after + drained_after(left, way.turnover * self.capacity, way.leaving)
    }

    /// Seconds until all slots are taken: `d taken / dt = served - turnover * taken`.
    fn full_after_seconds(&self, way: Rates) -> f64 {
        let level = way.served / way.turnover;
        if self.never_full || level <= self.capacity {
            return f64::INFINITY;
        }
        let taken = (self.taken + self.at_once).min(self.capacity);
        ((level - taken) / (level - self.capacity)).ln() / way.turnover
    }

    /// Whether a position is served before all slots are taken.
    #[allow(clippy::cast_precision_loss)]
    fn fills_no_further(&self, way: Rates, position: u64) -> bool {
        let ahead = (position as f64 - self.at_once).max(0.0);
        drained_after(ahead, way.served, way.leaving) <= self.full_after_seconds(way)
            // Even if nobody ever goes.
            || self.never_full
            || position as f64 <= self.capacity - self.taken
    }
}

impl Rates {
    /// What a window shows, where these are what is known beforehand.
    #[allow(clippy::cast_precision_loss)]
    fn after(self, observed: &Observed, window: &Window, pace: f64) -> Self {
        let (now, before) = (observed.now, window.before);
        if before.at_ms == 0 {
            return self;
        }
        let count = |now: i64, before: i64| now.saturating_sub(before).max(0) as f64;
        let freed = count(now.gone, before.gone);
        let left = count(now.left, before.left);
        let taken = now.taken_seconds.saturating_sub(before.taken_seconds) as f64;
        let waiting = now.waiting_seconds.saturating_sub(before.waiting_seconds) as f64;
        let served = match moved(observed, window) {
            Some((served, seconds)) => (served + PRIOR) / (seconds + PRIOR / self.served),
            None => self.served,
        };
        Self {
            served: served.min(pace),
            turnover: (freed + PRIOR) / (taken + PRIOR / self.turnover),
            leaving: if waiting > 0.0 { left / waiting } else { self.leaving },
            freed,
        }
    }

    fn mixed(self, other: Self, share: f64) -> Self {
        let mix = |one: f64, other: f64| one + (other - one) * share;
        Self {
            served: mix(self.served, other.served),
            turnover: mix(self.turnover, other.turnover),
            leaving: mix(self.leaving, other.leaving),
            freed: mix(self.freed, other.freed),
        }
    }
}

/// How many were served since the window before began, and in how many seconds; `None` where the line did not move all
/// that time.
#[allow(clippy::cast_precision_loss)]
fn moved(observed: &Observed, window: &Window) -> Option<(f64, f64)> {
    let before = window.before;
    let is_one_pace = observed.moving_since_ms > 0 && before.at_ms >= observed.moving_since_ms;
    let seconds = observed.now.at_ms.saturating_sub(before.at_ms) as f64 / 1_000.0;
    let served = observed.now.served.saturating_sub(before.served) as f64;
    (is_one_pace && seconds >= 1.0).then_some((served, seconds))
}

#[allow(clippy::cast_precision_loss)]
fn seen(observed: &Observed, window: &Window) -> Option<f64> {
    let seconds = observed.now.at_ms.saturating_sub(window.before.at_ms) as f64 / 1_000.0;
    let served = observed.now.served.saturating_sub(window.before.served) as f64;
    (window.before.at_ms > 0 && seconds >= 10.0 && served > 0.0).then_some(served / seconds)
}

/// Seconds until nobody is ahead: `d ahead / dt = -rate - leaving * ahead`.
fn drained_after(ahead: f64, rate: f64, leaving: f64) -> f64 {
    if ahead <= 0.0 {
        0.0
    } else if leaving * ahead < rate * 1e-6 {
        ahead / rate
    } else {
        (leaving * ahead / rate).ln_1p() / leaving
    }
}

/// How many are ahead after so many seconds of that.
fn still_ahead(ahead: f64, rate: f64, leaving: f64, seconds: f64) -> f64 {
    let left = if leaving * ahead < rate * 1e-6 {
        ahead - rate * seconds
    } else {
        let level = rate / leaving;
        (ahead + level) * (-leaving * seconds).exp() - level
    };
    left.max(0.0)
}
