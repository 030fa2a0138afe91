//! The forecast: when a turn comes, computed from the counts of a line.
//!
//! See `docs/adr/0012-wait-estimate.md`.

use std::sync::OnceLock;

use super::{
    Estimate,
    assumed_course::AssumedCourse,
    curve::{Curve, seconds_until_empty},
    expected_rates::{ExpectedRates, SessionEndSpread},
    observed_line::ObservedLine,
    passed_over::PassedOver,
    rates::{PRIOR_EVENTS, WindowRates, pace_per_second},
    step_grid::count_as_f64,
};
use crate::poll_pacing::{HELD_BUDGET, Hold, UNKNOWN_SPEED_PARTS, plan_hold, plan_hold_at_unknown_speed};

/// The weight of the assumption that every visitor stays to the end of the session, in events. It
/// is small, because the session length says little about how long visitors really stay.
const STAY_PRIOR_EVENTS: f64 = 0.1;
/// A forecast from how slots came free needs at least this many slots freed in the long window. If
/// the slots filled up during that window, it also needs this share of the taken slots to have been
/// freed. Without these, [`AssumedCourse`] applies.
const FREED_SLOTS_MIN: f64 = 4.0;
const TURNOVER_SHARE_MIN: f64 = 0.3;
/// Of the first turns of a queue of unknown speed, so many visitors look again as soon as the pace allows: those whose polls
/// the usual budget can hold.
const FIRST_LOOKS_MAX: u64 = HELD_BUDGET as u64 / UNKNOWN_SPEED_PARTS;
/// The slots of such a queue count as held for at least this time for all others, in seconds. Otherwise a crowd of thousands
/// would ask more often than fixed clients do.
const SILENT_SECONDS_MIN: f64 = 4.0;
/// A range beyond one day is not shown, because conditions will have changed by then.
const RANGE_MAX_SECONDS: f64 = 86_400.0;

// The following values were fitted to simulations: see docs/adr/0012-wait-estimate.md.

/// How much faster slots may come free if they were filled recently and have not turned over yet,
/// as a share, and how often the slots turn over until that share has faded.
const RECENT_FILL_SHARE: f64 = 0.25;
const RECENT_FILL_CYCLES: f64 = 1.5;
/// The largest effect of a difference between the two windows (a logarithm), and the length of a
/// burst in seconds.
const SWING_MAX: f64 = 2.0;
const BURST_SECONDS: f64 = 120.0;
/// Once in this time one promoter ends and the next begins, and a tick is late by so much at most. Seconds.
const LATE_TICKS_PERIOD_SECONDS: f64 = 60.0;
const LATE_TICK_SECONDS_MAX: f64 = 2.0;
/// Ticks are one second apart, so a turn may come this much earlier or later than the rates say.
/// Seconds.
const TICK_ERROR_SECONDS: f64 = 0.4;

impl ObservedLine {
    /// The share of the turns that are not claimed in time.
    #[allow(clippy::cast_precision_loss)]
    fn no_show_rate(&self) -> f64 {
        let turns = (self.no_shows + self.claimed) as f64 + PRIOR_EVENTS;
        self.no_shows as f64 / turns
    }

    /// How long a slot is held, in seconds, as assumed before any visitor was observed to leave: a
    /// no-show holds it for the claim time, and any other visitor for the whole session.
    #[allow(clippy::cast_precision_loss)]
    fn stay_seconds(&self) -> f64 {
        let no_shows = self.no_show_rate();
        (no_shows * self.claim_ms as f64 + (1.0 - no_shows) * self.session_ms as f64) / 1_000.0
    }
}

/// A forecast of when turns come.
#[derive(Debug, Clone)]
pub struct Forecast {
    pace: f64,
    /// Slots that are not taken.
    free: u64,
    /// Whether slots come free faster than the pace fills them, even if every visitor stays to the
    /// end of the session.
    never_full: bool,
    course: ExpectedRates,
    /// The course beyond the free slots while too few slots were seen to come free.
    assumed: AssumedCourse,
    /// How much faster recently filled slots may come free, as a share.
    recent_fill_share: f64,
    observed: ObservedLine,
    // Computed on demand: the code that paces polls needs only the first one.
    expected: OnceLock<Curve>,
    sooner: OnceLock<Curve>,
    later: OnceLock<Curve>,
    longest: OnceLock<Curve>,
    /// Entries served per second in the short window; `None` if the observation is too short.
    observed_rate: Option<f64>,
}

impl Forecast {
    /// Computes the forecast from the observed counts.
    #[allow(clippy::cast_precision_loss)]
    pub fn from_observed(observed: ObservedLine) -> Self {
        let pace = pace_per_second(observed.pace);
        let stay_seconds = observed.stay_seconds();
        let prior = WindowRates {
            served: pace,
            is_served_observed: false,
            early: 1.0 / stay_seconds,
            observed_early: 1.0 / stay_seconds,
            no_shows: observed.no_show_rate(),
            turns: 0.0,
            leaving: 0.0,
            passed_over: PassedOver::default(),
            freed: 0.0,
            freed_early: 0.0,
            cycles: 0.0,
        };
        let averages = &observed.averages;
        let long = prior.update_from_window(&observed, &averages.long, STAY_PRIOR_EVENTS);
        let short = long.update_from_window(&observed, &averages.short, PRIOR_EVENTS);
        let long = WindowRates {
            early: if long.cycles.is_finite() && short.cycles.is_infinite() {
                short.early
            } else {
                long.early
            },
            passed_over: short.passed_over,
            ..long
        };
        let course = ExpectedRates {
            near: short,
            far: long,
            ends: SessionEndSpread::Even,
        };
        let free = observed.capacity.saturating_sub(observed.taken);
        Self {
            pace,
            assumed: AssumedCourse::from_observed(&observed, &course, stay_seconds),
            free,
            never_full: pace * stay_seconds <= observed.capacity as f64 && free > 0,
            course,
            recent_fill_share: RECENT_FILL_SHARE * (-long.cycles / RECENT_FILL_CYCLES).exp(),
            expected: OnceLock::new(),
            sooner: OnceLock::new(),
            later: OnceLock::new(),
            longest: OnceLock::new(),
            observed_rate: observed_rate(&observed),
            observed,
        }
    }

    /// The observed rate: entries served per second in the last one or two minutes; `None` if no
    /// rate was observed.
    pub fn observed_per_second(&self) -> Option<f64> {
        self.observed_rate
    }

    /// The expected rate: entries served per second in the near future.
    pub fn expected_per_second(&self) -> f64 {
        if self.has_turnover() {
            self.expected_curve().next_rate
        } else {
            self.assumed.next_rate().max(self.longest_curve().next_rate)
        }
    }

    /// How the poll of a waiting visitor at this position may be held, who offers to wait for `wait_ms`: see
    /// [`plan_hold`]. `None` if it may not.
    pub fn plan_hold(&self, position: u64, wait_ms: u64, held_budget: u64, moving: bool) -> Option<Hold> {
        let expected_ms = self.expected_ms(position);
        let rate = self.expected_per_second();
        let hold = plan_hold(expected_ms, wait_ms, held_budget, rate, moving);
        let is_next = !self.knows_speed(position) && position <= self.observed.first_turns();
        if hold.is_none() && moving && is_next {
            plan_hold_at_unknown_speed(self.eta_ms(position), wait_ms, held_budget)
        } else {
            hold
        }
    }

    /// The expected wait of one position, in milliseconds.
    pub fn expected_ms(&self, position: u64) -> u64 {
        to_ms(self.expected_seconds(position))
    }

    /// How soon the turn of one position may come, in milliseconds. It paces polls.
    ///
    /// - Until the speed is known, sessions may end at any time, so a turn may come as soon as the pace allows. The longer
    ///   the slots have been held, the longer they are expected to be held yet. Beyond the first turns they have to come free
    ///   twice at least.
    /// - While the slots have turned over only a few times, the turn may come as soon as the range says.
    /// - Otherwise this is the expected wait.
    pub fn eta_ms(&self, position: u64) -> u64 {
        let mut seconds = self.expected_seconds(position);
        if !self.knows_speed(position) {
            let silent = self.observed.silent_seconds();
            let held = if position <= self.observed.first_turns().min(FIRST_LOOKS_MAX) {
                silent
            } else {
                2.0 * silent.max(SILENT_SECONDS_MIN)
            };
            let sooner = self.shortest_seconds(position).max(held);
            seconds = seconds.min(sooner.max(self.last_free_seconds()));
        } else if self.has_filled_lately() && !self.has_room_for(position) {
            seconds = seconds.min(self.sooner_curve().seconds_until_served(position));
        }
        to_ms(seconds)
    }

    /// Whether the slots filled up in the long window.
    fn has_filled_lately(&self) -> bool {
        self.course.far.cycles.is_finite()
    }

    /// Whether the wait of a position can be told from how slots came free, or without them.
    fn knows_speed(&self, position: u64) -> bool {
        self.has_turnover() || self.has_room_for(position)
    }

    fn expected_seconds(&self, position: u64) -> f64 {
        if self.has_turnover() {
            return self.expected_curve().seconds_until_served(position);
        }
        let assumed = self.assumed.seconds_until_served(position);
        // The known ends of the running sessions may show that slots come free sooner.
        let longest = || self.longest_curve().seconds_until_served(position);
        if self.has_room_for(position) {
            assumed
        } else {
            assumed
                .min(longest())
                .max(self.shortest_seconds(position))
                .max(self.last_free_seconds())
        }
    }

    /// The time until the last one is served for whom a slot is free, in seconds. Those behind come no sooner.
    fn last_free_seconds(&self) -> f64 {
        self.assumed.seconds_until_served(self.free)
    }

    /// The range in which the turn of one position comes in four of five cases. If too few slots were
    /// seen to come free, the range of a position beyond the free slots is as wide as it has to be: from
    /// the pace, as if slots never ran out, to the end of whole sessions. `None` if the turn may
    /// be more than a day away.
    pub fn wait_range(&self, position: u64) -> Option<Estimate> {
        let (low, high) = if self.knows_speed(position) {
            self.likely_seconds(position)
        } else {
            let expected = self.expected_seconds(position);
            let low = self.shortest_seconds(position).min(expected);
            let high = self.longest_curve().seconds_until_served(position).max(expected);
            (low - TICK_ERROR_SECONDS, high + TICK_ERROR_SECONDS)
        };
        (high <= RANGE_MAX_SECONDS).then(|| Estimate::between(low.max(0.0), high))
    }

    /// The range by the observed rates, in seconds.
    fn likely_seconds(&self, position: u64) -> (f64, f64) {
        let seconds = self.expected_curve().seconds_until_served(position);
        let is_steady = self.has_room_for(position) && self.is_at_pace();
        let unsteady = if is_steady {
            0.0
        } else {
            self.burst_error_seconds(seconds)
        };
        let around = TICK_ERROR_SECONDS + unsteady;
        let low = self.sooner_curve().seconds_until_served(position).min(seconds) - around;
        let high = self.later_curve().seconds_until_served(position).max(seconds) + around;
        // The time that late ticks lose in a minute is lost at once, and it may be within any wait.
        let (_, used_share) = self.course.near.split_served(self.pace);
        let late = ((1.0 - used_share) * LATE_TICKS_PERIOD_SECONDS).min(LATE_TICK_SECONDS_MAX);
        (low, high + late)
    }

    /// The time until a position is served if slots never limit the line, in seconds.
    fn shortest_seconds(&self, position: u64) -> f64 {
        let ahead = count_as_f64(position) - count_as_f64(self.observed.promotable_now());
        let near = self.course.near.to_optimistic(self.pace, 0.0);
        let speed = self.pace * near.passed_over.positions_per_turn(0.0);
        seconds_until_empty(ahead, speed, self.course.far.leaving)
    }

    fn expected_curve(&self) -> &Curve {
        self.expected
            .get_or_init(|| Curve::compute(&self.observed, &self.course))
    }

    fn sooner_curve(&self) -> &Curve {
        let sooner = |rates: WindowRates| rates.to_optimistic(self.pace, self.recent_fill_share);
        let course = || self.course.map_rates(SessionEndSpread::Sooner, sooner);
        self.sooner
            .get_or_init(|| Curve::compute(&self.observed, &course()))
    }

    fn later_curve(&self) -> &Curve {
        let later = |rates: WindowRates| rates.to_pessimistic(self.pace);
        let course = || self.course.map_rates(SessionEndSpread::Later, later);
        self.later
            .get_or_init(|| Curve::compute(&self.observed, &course()))
    }

    /// The course if each visitor takes the whole claim time, and stays for the whole session as far as
    /// the departures so far allow that.
    fn longest_curve(&self) -> &Curve {
        let staying = |rates: WindowRates| rates.to_longest_stays(self.pace);
        self.longest.get_or_init(|| {
            let observed = ObservedLine {
                session_ms: self.observed.session_ms + self.observed.claim_ms,
                ..self.observed.clone()
            };
            Curve::compute(
                &observed,
                &self.course.map_rates(SessionEndSpread::Later, staying),
            )
        })
    }

    /// Whether enough slots were seen to come free.
    fn has_turnover(&self) -> bool {
        self.never_full
            || (self.course.far.freed >= FREED_SLOTS_MIN && self.course.far.cycles >= TURNOVER_SHARE_MIN)
    }

    /// Whether the pace alone limits how fast the line moves.
    fn is_at_pace(&self) -> bool {
        self.course.near.is_at_pace(self.pace) && self.course.far.is_at_pace(self.pace)
    }

    /// Whether a position is served even if no further slot comes free, or the slots can never all
    /// be taken.
    fn has_room_for(&self, position: u64) -> bool {
        self.never_full || position <= self.free
    }

    /// How far a turn may be off because visitors leave early in bursts, in seconds. In that case
    /// the two windows differ by more than chance explains.
    fn burst_error_seconds(&self, seconds: f64) -> f64 {
        let chance =
            (1.0 / (self.course.near.freed_early + 1.0) + 1.0 / (self.course.far.freed_early + 1.0)).sqrt();
        let swing = (self.course.near.observed_early / self.course.far.observed_early)
            .ln()
            .abs()
            .min(SWING_MAX)
            - chance;
        let early = self.course.far.freed_early / self.course.far.freed.max(1.0);
        swing.max(0.0) * early * seconds.min(BURST_SECONDS)
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn to_ms(seconds: f64) -> u64 {
    // The cast saturates: a wait beyond the range of the type becomes its maximum.
    (seconds * 1_000.0).ceil() as u64
}

#[allow(clippy::cast_precision_loss)]
fn observed_rate(observed: &ObservedLine) -> Option<f64> {
    let window = &observed.averages.short;
    let seconds = observed.counts.at_ms.saturating_sub(window.previous_start.at_ms) as f64 / 1_000.0;
    let served = observed
        .counts
        .served
        .saturating_sub(window.previous_start.served) as f64;
    (window.previous_start.at_ms > 0 && seconds >= 10.0 && served > 0.0).then_some(served / seconds)
}

#[cfg(test)]
mod tests;
