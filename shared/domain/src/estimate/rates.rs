//! The rates observed in one window, and the bounds for a forecast from them.

use super::{observed_line::ObservedLine, passed_over::PassedOver, windows::CountWindow};
use crate::pace::Pace;

/// The weight of prior knowledge, in events. For the short window the long one is the prior; for
/// the long window it is the pace.
pub(super) const PRIOR_EVENTS: f64 = 4.0;
/// If a window began with a smaller share of the slots taken, the slots filled during it. All
/// holders then came recently, and few of them leave yet.
const FILLED_SHARE_MIN: f64 = 0.5;
/// Ticks count the taken slots before they fill those that came free. A slot that did was held for so long, on average, since
/// the tick before. Seconds.
const UNCOUNTED_SECONDS: f64 = 0.5;
/// The rate counts as observed if the pace alone limited the line for this many seconds.
const PACED_SECONDS_MIN: f64 = 20.0;
/// A line that serves at least this share of its pace is limited by the pace alone.
const AT_PACE_SHARE_MIN: f64 = 0.97;

// The following values were fitted to simulations: see docs/adr/0012-wait-estimate.md.

/// How far the future rate may fall below an observed rate that is at the pace, as a share.
const PACE_SHORTFALL_SHARE: f64 = 0.007;
/// How far the rate may fall below the pace while it was not observed, as a share.
const UNOBSERVED_SHORTFALL_SHARE: f64 = 0.08;
/// How far any other rate may differ from the observed one, as a share, in addition to chance.
pub(super) const RATE_DRIFT_SHARE: f64 = 0.015;
/// The factor on the standard error by which a small number of events widens the range.
const CHANCE_FACTOR: f64 = 1.05;
/// The factor on the standard error of a small number of departures that visitors fall short of in
/// one of ten cases.
const FEW_DEPARTURES_FACTOR: f64 = 1.28;
/// How many more no-shows there may be, as a share: visitors who waited longer miss their turn more
/// often.
const EXTRA_NO_SHOW_SHARE: f64 = 0.6;
/// The share of the leaving rate that remains in the pessimistic case.
const PESSIMISTIC_LEAVING_SHARE: f64 = 0.7;

/// The rates of one window, per second.
#[derive(Debug, Clone, Copy)]
pub(super) struct WindowRates {
    /// Entries served while only the pace limited the line; never above the pace.
    pub(super) served: f64,
    /// Whether that was observed. If not, it is the pace.
    pub(super) is_served_observed: bool,
    /// The rate at which one taken slot comes free before its time runs out.
    pub(super) early: f64,
    /// The same rate as observed, with a minimal weight of prior knowledge.
    pub(super) observed_early: f64,
    /// The share of the turns that are not claimed in time.
    pub(super) no_shows: f64,
    /// The number of turns in the window.
    pub(super) turns: f64,
    /// The rate at which one entry in line leaves it.
    pub(super) leaving: f64,
    /// How many entries are passed over for each one that is served.
    pub(super) passed_over: PassedOver,
    /// The number of slots that came free.
    pub(super) freed: f64,
    /// The number of slots that came free early.
    pub(super) freed_early: f64,
    /// How often the slots turned over since they were filled; infinite if they were not filled in this
    /// window.
    pub(super) cycles: f64,
}

impl WindowRates {
    /// The rates of a window, with `self` as prior knowledge of weight `prior`, in events.
    #[allow(clippy::cast_precision_loss)]
    pub(super) fn update_from_window(
        self,
        observed: &ObservedLine,
        window: &CountWindow,
        prior: f64,
    ) -> Self {
        let (now, before) = (observed.counts, window.previous_start);
        if before.at_ms == 0 {
            return self;
        }
        let count = |now: i64, before: i64| now.saturating_sub(before).max(0) as f64;
        let freed = count(now.freed, before.freed);
        let expired = now.expired.saturating_sub(before.expired) as f64;
        let no_shows = now.no_shows.saturating_sub(before.no_shows) as f64;
        let freed_early = (freed - expired - no_shows).max(0.0);
        let turns = now.served.saturating_sub(before.served) as f64;
        let passed_over = now.passed_over.saturating_sub(before.passed_over);
        let left = count(now.left, before.left.saturating_add(passed_over));
        let taken = now.taken_seconds.saturating_sub(before.taken_seconds) as f64 + freed * UNCOUNTED_SECONDS;
        let waiting = now.waiting_seconds.saturating_sub(before.waiting_seconds) as f64;
        let filled = before.served.cast_signed().saturating_sub(before.freed) as f64
            >= observed.capacity as f64 * FILLED_SHARE_MIN;
        let span_seconds = now.at_ms.saturating_sub(before.at_ms) as f64 / 1_000.0;
        let (paced, paced_seconds) = count_paced(observed, window);
        let served = (paced + PRIOR_EVENTS) / (paced_seconds + PRIOR_EVENTS / self.served);
        Self {
            served: served.min(pace_per_second(observed.pace)),
            is_served_observed: self.is_served_observed || paced_seconds >= PACED_SECONDS_MIN,
            early: (freed_early + prior) / (taken + prior / self.early),
            observed_early: (freed_early + 1.0) / (taken + 1.0 / self.early),
            no_shows: ((no_shows + PRIOR_EVENTS * self.no_shows) / (turns + PRIOR_EVENTS)).min(1.0),
            turns,
            leaving: if waiting > 0.0 {
                left / waiting
            } else {
                self.leaving
            },
            passed_over: self.passed_over.update_from_window(
                observed,
                passed_over as f64,
                turns,
                span_seconds,
            ),
            freed,
            freed_early,
            cycles: if filled {
                f64::INFINITY
            } else {
                freed / (observed.taken as f64).max(1.0)
            },
        }
    }

    /// What the pace allows per second, and the share of it that ticks use. The observed rate is lower than the pace where
    /// ticks come late, as when one promoter ends and the next begins, and the bucket holds no more than a tick spends. Such
    /// ticks fill the slots late, too.
    pub(super) fn split_served(self, pace: f64) -> (f64, f64) {
        if self.is_served_observed {
            (pace, self.served / pace)
        } else {
            (self.served, 1.0)
        }
    }

    pub(super) fn is_at_pace(self, pace: f64) -> bool {
        self.served >= pace * AT_PACE_SHARE_MIN
    }

    /// The relative error that a small number of events leaves open.
    fn relative_error(self) -> f64 {
        CHANCE_FACTOR / (self.freed + 1.0).sqrt()
    }

    fn no_show_relative_error(self) -> f64 {
        CHANCE_FACTOR / (self.no_shows * self.turns + 1.0).sqrt()
    }

    pub(super) fn to_optimistic(self, pace: f64, youth: f64) -> Self {
        let more = 1.0 + RATE_DRIFT_SHARE + self.relative_error() + youth;
        let unclaimed = 1.0 + EXTRA_NO_SHOW_SHARE + self.no_show_relative_error();
        Self {
            served: (self.served * more).min(pace),
            early: self.early * more,
            no_shows: (self.no_shows * unclaimed).min(1.0),
            passed_over: self.passed_over.to_optimistic(CHANCE_FACTOR),
            ..self
        }
    }

    pub(super) fn to_pessimistic(self, pace: f64) -> Self {
        let less = 1.0 + RATE_DRIFT_SHARE + self.relative_error();
        let unclaimed = 1.0 + RATE_DRIFT_SHARE + self.no_show_relative_error();
        Self {
            served: if !self.is_served_observed {
                self.served / (1.0 + UNOBSERVED_SHORTFALL_SHARE)
            } else if self.is_at_pace(pace) {
                // A line at its pace does not depend on chance.
                self.served / (1.0 + PACE_SHORTFALL_SHARE)
            } else {
                self.served / less
            },
            early: self.early / less,
            no_shows: self.no_shows / unclaimed,
            passed_over: self.passed_over.to_pessimistic(CHANCE_FACTOR),
            leaving: self.leaving * PESSIMISTIC_LEAVING_SHARE,
            ..self
        }
    }

    /// The pessimistic rates while few departures were seen. Before the second one, no visitor is
    /// assumed to leave early.
    pub(super) fn to_longest_stays(self, pace: f64) -> Self {
        let certain_share = 1.0 - FEW_DEPARTURES_FACTOR / self.freed_early.max(1.0).sqrt();
        Self {
            early: self.early * certain_share.max(0.0),
            ..self.to_pessimistic(pace)
        }
    }
}

/// How many entries were promoted since the previous window began while only the pace limited the
/// line, and in how many seconds.
#[allow(clippy::cast_precision_loss)]
fn count_paced(observed: &ObservedLine, window: &CountWindow) -> (f64, f64) {
    let (now, before) = (observed.counts, window.previous_start);
    // The counts start anew when the pace or the capacity changes.
    let is_one_pace = before.at_ms > observed.averages.rate_since_ms;
    let count = |now: u64, before: u64| now.saturating_sub(if is_one_pace { before } else { 0 }) as f64;
    (
        count(now.paced, before.paced),
        count(now.paced_seconds, before.paced_seconds),
    )
}

/// The entries per second that the pace allows.
#[allow(clippy::cast_precision_loss)]
pub(super) fn pace_per_second(pace: Pace) -> f64 {
    pace.batch as f64 * 1_000.0 / pace.interval_ms as f64
}
