//! The rates of one window, and what becomes of a line at them.

use super::{Observed, Window};
use crate::pace::Pace;

/// What is known beforehand counts as much as so many events: of the short window, where the long one knows, and of the pace.
pub(super) const PRIOR: f64 = 4.0;
/// A window that began with fewer slots taken saw them fill: then all who hold one came lately, and few go yet.
const FILLED_PART: f64 = 0.5;
/// A window in which such a part of the slots was taken was one of a full queue.
const FULL_PART: f64 = 0.9;
/// A line that serves such a part of its pace is bound by nothing else.
const AT_PACE: f64 = 0.97;

// What follows was fitted: see docs/decisions/estimate.md.

/// How far the pace that is kept may fall behind the one that was seen.
const PACE_LATE: f64 = 0.007;
/// How far any other rate may be from what was seen, beside what chance leaves open.
pub(super) const DRIFT: f64 = 0.015;
/// The part of its standard error by which so few events widen the range.
const CHANCE: f64 = 1.05;
/// How many more no-shows there may be: whoever has waited for longer is away more often.
const VANISHED: f64 = 0.6;
/// Which part of those who leave may stay.
const LEAVING_LEFT: f64 = 0.7;

/// Rates of one window, each per second.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rates {
    /// Entries served while the line moved, never above the pace.
    pub(super) served: f64,
    /// Of one taken slot: that it comes free before its time runs out.
    pub(super) early: f64,
    /// The same as seen, with next to nothing of what is known beforehand.
    pub(super) raw: f64,
    /// Of one turn: that nobody claims it.
    pub(super) no_shows: f64,
    /// How many turns there were.
    pub(super) turns: f64,
    /// Of one entry in line: that it leaves.
    pub(super) leaving: f64,
    /// How many slots came free.
    pub(super) freed: f64,
    /// How many of them early.
    pub(super) freed_early: f64,
    /// How often the slots turned over since they were filled; infinite where the window saw nothing of that.
    pub(super) cycles: f64,
}

impl Rates {
    /// What a window shows, where these are what is known beforehand.
    #[allow(clippy::cast_precision_loss)]
    pub(super) fn after(self, observed: &Observed, window: &Window, since_ms: u64, prior: f64) -> Self {
        let (now, before) = (observed.now, window.before);
        if before.at_ms == 0 {
            return self;
        }
        let count = |now: i64, before: i64| now.saturating_sub(before).max(0) as f64;
        let freed = count(now.gone, before.gone);
        let expired = now.expired.saturating_sub(before.expired) as f64;
        let no_shows = now.no_shows.saturating_sub(before.no_shows) as f64;
        let freed_early = (freed - expired - no_shows).max(0.0);
        let turns = now.served.saturating_sub(before.served) as f64;
        let left = count(now.left, before.left);
        let taken = now.taken_seconds.saturating_sub(before.taken_seconds) as f64;
        let waiting = now.waiting_seconds.saturating_sub(before.waiting_seconds) as f64;
        let filled = before.served.cast_signed().saturating_sub(before.gone) as f64
            >= observed.capacity as f64 * FILLED_PART;
        let span_seconds = now.at_ms.saturating_sub(before.at_ms) as f64 / 1_000.0;
        let was_full = taken >= observed.capacity as f64 * span_seconds * FULL_PART;
        let served = match moved(observed, window, since_ms) {
            // Slots that came free were what it was served by: that says nothing of how fast it goes where there is room.
            Some(_) if was_full => per_second(observed.pace),
            Some((served, seconds)) => (served + PRIOR) / (seconds + PRIOR / self.served),
            None => self.served,
        };
        Self {
            served: served.min(per_second(observed.pace)),
            early: (freed_early + prior) / (taken + prior / self.early),
            raw: (freed_early + 1.0) / (taken + 1.0 / self.early),
            no_shows: ((no_shows + PRIOR * self.no_shows) / (turns + PRIOR)).min(1.0),
            turns,
            leaving: if waiting > 0.0 {
                left / waiting
            } else {
                self.leaving
            },
            freed,
            freed_early,
            cycles: if filled {
                f64::INFINITY
            } else {
                freed / (observed.taken as f64).max(1.0)
            },
        }
    }

    pub(super) fn is_at(self, pace: f64) -> bool {
        self.served >= pace * AT_PACE
    }

    /// By how much so few events may mislead.
    fn chance(self) -> f64 {
        CHANCE / (self.freed + 1.0).sqrt()
    }

    fn no_show_chance(self) -> f64 {
        CHANCE / (self.no_shows * self.turns + 1.0).sqrt()
    }

    pub(super) fn sooner(self, pace: f64, youth: f64) -> Self {
        let more = 1.0 + DRIFT + self.chance() + youth;
        let unclaimed = 1.0 + VANISHED + self.no_show_chance();
        Self {
            served: (self.served * more).min(pace),
            early: self.early * more,
            no_shows: (self.no_shows * unclaimed).min(1.0),
            ..self
        }
    }

    pub(super) fn later(self, pace: f64) -> Self {
        let less = 1.0 + DRIFT + self.chance();
        let unclaimed = 1.0 + DRIFT + self.no_show_chance();
        Self {
            // At the pace nothing is left to chance.
            served: if self.is_at(pace) {
                self.served / (1.0 + PACE_LATE)
            } else {
                self.served / less
            },
            early: self.early / less,
            no_shows: self.no_shows / unclaimed,
            leaving: self.leaving * LEAVING_LEFT,
            ..self
        }
    }
}

/// How many were served since the window before began, and in how many seconds; `None` where the line has not moved since
/// then.
#[allow(clippy::cast_precision_loss)]
fn moved(observed: &Observed, window: &Window, since_ms: u64) -> Option<(f64, f64)> {
    let before = window.before;
    let is_one_pace = since_ms > 0 && before.at_ms >= since_ms;
    let seconds = observed.now.at_ms.saturating_sub(before.at_ms) as f64 / 1_000.0;
    let served = observed.now.served.saturating_sub(before.served) as f64;
    (is_one_pace && seconds >= 1.0).then_some((served, seconds))
}

/// Entries a second that the pace allows.
#[allow(clippy::cast_precision_loss)]
pub(super) fn per_second(pace: Pace) -> f64 {
    pace.batch as f64 * 1_000.0 / pace.interval_ms as f64
}
