//! Presence: which called visitors are there, and how an absent one costs the others nothing.
//!
//! A called visitor checks in by entering, by a status request or by a held poll, and is then
//! present for `presence_seconds`. A promotion takes present visitors only. It goes past an entry
//! that was called `call_seconds` ago and is not present: the entry is absent, keeps its place, and
//! is first in line again with its next check-in. `docs/adr/0022-presence.md` has the reasons.
//!
//! Times of presence are counted by the *presence clock*. It stands still while no visitor can be
//! expected to check in, so that an outage of the API makes no visitor absent.

pub use self::marks::Marks;
use crate::settings::Settings;

mod marks;

/// The most by which one tick advances the presence clock, in milliseconds: while no tick runs, no
/// visitor may be called absent.
pub const PRESENCE_STEP_MAX_MS: u64 = 5_000;
/// After this time without a check-in or a claim, in milliseconds, a front door that had some is
/// taken to be down. They are also counted over this time.
pub const FRONT_DOOR_SILENCE_MS: u64 = 10_000;
/// The least presence time between two marks of the place up to which visitors are called, in
/// milliseconds.
pub const CALLED_MARK_MS: u64 = 1_000;
/// How many marks the time of an absence is divided by.
pub const ABSENCE_MARKS: u64 = 60;
/// By how much the window of a lane grows at once if most of the called visitors are absent.
pub const GROWTH_FACTOR: u64 = 4;
/// The most by which the window of a lane grows.
pub const GROWTH_MAX: u64 = 64;

/// The presence clock of a queue, and what it needs to notice that the front door is down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PresenceClock {
    /// The presence clock, in milliseconds. It begins with the Unix time at which presence was
    /// switched on.
    pub ms: u64,
    /// The line time of the last tick, in Unix milliseconds.
    pub at_ms: u64,
    /// How many check-ins by poll and claims the last tick found, since presence was switched on.
    pub check_ins: u64,
    /// The line time of the last tick that found another one, in Unix milliseconds.
    pub checked_in_at_ms: u64,
    /// When the current period of counting began, in Unix milliseconds.
    pub period_at_ms: u64,
    /// How many there were at the beginning of the period.
    pub period_check_ins: u64,
    /// Whether they came at one per second or more in the last period that had one. A queue that was busy
    /// stays so if they came at this rate until the last one of the period.
    pub is_busy: bool,
}

/// What a tick found when it advanced the presence clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PresenceTick {
    /// Whether the clock runs.
    pub is_running: bool,
    /// Whether the front door is down: requests have stopped although visitors are expected to check
    /// in. Then no visitor can claim, so claim deadlines stand still, and no entry is promoted while
    /// one is ready.
    pub is_door_down: bool,
    /// For how long the front door was down since the last tick, in milliseconds. The tick that
    /// notices it counts from the last check-in.
    pub door_down_ms: u64,
}

impl PresenceClock {
    /// The clock of a queue whose presence is switched on now.
    pub fn new(now_ms: u64) -> Self {
        Self {
            ms: now_ms,
            at_ms: now_ms,
            check_ins: 0,
            checked_in_at_ms: now_ms,
            period_at_ms: now_ms,
            period_check_ins: 0,
            is_busy: false,
        }
    }

    /// The clock at a tick, and what the tick found. `check_ins` counts the check-ins by poll and the
    /// claims so far. The clock stands still unless `may_run`, and while these have stopped although
    /// `present` visitors are expected to check in.
    #[must_use]
    pub fn advance(self, now_ms: u64, check_ins: u64, present: u64, may_run: bool) -> (Self, PresenceTick) {
        let mut next = self;
        next.at_ms = now_ms.max(self.at_ms);
        if check_ins > self.check_ins {
            (next.check_ins, next.checked_in_at_ms) = (check_ins, next.at_ms);
        }
        let counted_ms = next.at_ms - self.period_at_ms;
        if counted_ms >= FRONT_DOOR_SILENCE_MS {
            let counted = check_ins.saturating_sub(self.period_check_ins);
            if counted > 0 {
                // An outage may begin early in the period. What came before it still shows that the queue is busy.
                let until_last_ms = next.checked_in_at_ms.saturating_sub(self.period_at_ms);
                let is_rate_of = |ms: u64| counted * 1_000 >= ms;
                next.is_busy = is_rate_of(counted_ms) || (self.is_busy && is_rate_of(until_last_ms));
            }
            (next.period_at_ms, next.period_check_ins) = (next.at_ms, check_ins);
        }
        let is_silent = |at_ms: u64| at_ms.saturating_sub(next.checked_in_at_ms) >= FRONT_DOOR_SILENCE_MS;
        let is_door_down = may_run && next.is_busy && is_silent(next.at_ms) && present > 0;
        let down_since_ms = if is_silent(self.at_ms) {
            self.at_ms
        } else {
            next.checked_in_at_ms
        };
        let tick = PresenceTick {
            is_running: may_run && !is_door_down,
            is_door_down,
            door_down_ms: if is_door_down {
                next.at_ms - down_since_ms
            } else {
                0
            },
        };
        if tick.is_running {
            next.ms += (next.at_ms - self.at_ms).min(PRESENCE_STEP_MAX_MS);
        }
        (next, tick)
    }
}

/// What a lane remembers of its calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneCalls {
    /// How many times as large the window is because most of the called visitors were absent.
    pub growth: u64,
    /// The presence time at which `growth` was last decided, in milliseconds.
    pub judged_at_ms: u64,
    /// Up to which place `growth` was decided.
    pub judged_through: u64,
    /// Up to which place absences were looked for that have lasted too long.
    pub looked_through: u64,
    /// Up to which place visitors were called, and since when.
    pub called: Marks,
    /// Which place had passed the head of the lane, and since when.
    pub passed: Marks,
}

impl LaneCalls {
    /// A lane whose visitors were never called. `bottom` is its lowest place.
    pub fn new(bottom: u64, clock_ms: u64) -> Self {
        Self {
            growth: 1,
            judged_at_ms: clock_ms,
            judged_through: bottom,
            looked_through: bottom,
            called: Marks::default(),
            passed: Marks::default(),
        }
    }

    /// Whether it is time to decide about the growth: `judged` has advanced, and the last decision
    /// was `call_ms` ago.
    pub fn is_decision_due(&self, clock_ms: u64, judged: u64, call_ms: u64) -> bool {
        judged > self.judged_through && clock_ms >= self.judged_at_ms + call_ms
    }

    /// Decides about the growth. Of the entries between the last decision and `judged`, `waiting`
    /// are still in line and `present` of these have checked in.
    pub fn decide_growth(&mut self, clock_ms: u64, judged: u64, waiting: u64, present: u64) {
        if waiting > 0 {
            self.growth = if 2 * present < waiting {
                (self.growth * GROWTH_FACTOR).min(GROWTH_MAX)
            } else {
                1
            };
        }
        (self.judged_at_ms, self.judged_through) = (clock_ms, judged);
    }
}

impl Settings {
    /// Whether visitors have to check in.
    pub fn has_presence(&self) -> bool {
        self.presence_seconds > 0
    }

    /// `presence_seconds` in milliseconds.
    pub fn presence_ms(&self) -> u64 {
        u64::from(self.presence_seconds) * 1_000
    }

    /// `call_seconds` in milliseconds.
    pub fn call_ms(&self) -> u64 {
        u64::from(self.call_seconds) * 1_000
    }

    /// `absent_seconds` in milliseconds.
    pub fn absent_ms(&self) -> u64 {
        u64::from(self.absent_seconds) * 1_000
    }

    /// The presence time that counts as the last check-in of a visitor who enters: such a visitor
    /// is present for `call_seconds`, but not longer than after a poll, and has to poll to stay so.
    pub fn entering_seen_ms(&self, clock_ms: u64) -> u64 {
        (clock_ms + self.call_ms().min(self.presence_ms()))
            .saturating_sub(self.presence_ms())
            .max(2)
    }
}

#[cfg(test)]
mod tests;
