//! How far the line of a lane has moved, and how far ahead of it visitors are called to check in.
//!
//! A visitor far from the head asks nothing about the own entry. The public document of the queue
//! says, for each lane, how many entries went past the head and up to which place visitors are
//! called. A called visitor polls the entry.

use crate::{pace::Pace, settings::Settings};

/// The number of lanes. A place has three bits for its lane.
pub const LANES: u8 = 8;

/// A priority class, from 0 to 7. Lane 0 is served first. A ticket, an authorizer's claim or an operator
/// assigns it, never the visitor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lane(u8);

impl Lane {
    /// The lane of a visitor who was assigned none. There are lanes before it and behind it.
    pub const DEFAULT: Self = Self(4);
    /// The lane that is served last.
    pub const LAST: Self = Self(LANES - 1);

    /// The lane with this number; `None` for 8 and above.
    pub fn new(number: u64) -> Option<Self> {
        u8::try_from(number)
            .ok()
            .filter(|number| *number < LANES)
            .map(Self)
    }

    /// The number, below 8.
    pub fn number(self) -> u8 {
        self.0
    }
}

impl Default for Lane {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// How many places one lane has: the part of a score below the lane.
pub const LANE_PLACES: u64 = 1 << 50;
/// The least number of entries in the window of a lane.
pub const WINDOW_ENTRIES_MIN: u64 = 500;
/// How often a called visitor polls, at least, in milliseconds, if presence is switched off.
const POLL_INTERVAL_MS: u64 = 30_000;

/// The highest place of a lane.
pub fn lane_top(lane: u8) -> u64 {
    (u64::from(lane) + 1) * LANE_PLACES - 1
}

/// How far the line of one lane has moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaneProgress {
    /// The place up to which visitors are called: they poll their entries.
    pub check_in_through: u64,
    /// The highest place that went past the head of the lane.
    pub passed_through: u64,
    /// How many entries went past the head, less those that came back to a place in line.
    pub gone_ahead: i64,
    /// The measured speed.
    pub speed: LaneSpeed,
    /// How many entries wait that were passed over and are not present: the absent ones.
    pub absent: u64,
}

/// A moving average of the entries that go past the head of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LaneSpeed {
    /// Entries per 1,000 seconds.
    pub per_1000_seconds: u64,
    /// When it was last measured, in Unix milliseconds; 0 if it never was.
    pub at_ms: u64,
    /// `gone_ahead` at that time.
    pub gone_ahead: i64,
}

impl LaneProgress {
    /// A lane in which no entry was promoted yet. All its visitors are called.
    pub fn new(lane: u8) -> Self {
        Self {
            check_in_through: lane_top(lane),
            passed_through: lane_top(lane) + 1 - LANE_PLACES,
            gone_ahead: 0,
            speed: LaneSpeed::default(),
            absent: 0,
        }
    }

    /// The position of an entry within the lane, from its rank there, which counts absent entries
    /// too. An entry that was passed over and is present has only other such entries ahead.
    pub fn position(&self, place: u64, rank: u64) -> u64 {
        let absent_ahead = if place > self.passed_through {
            self.absent
        } else {
            0
        };
        (rank.saturating_sub(absent_ahead) + 1).max(1)
    }
}

impl LaneSpeed {
    /// Entries per second; `None` before the speed was measured.
    #[allow(clippy::cast_precision_loss)]
    pub fn per_second(self) -> Option<f64> {
        (self.at_ms > 0).then_some(self.per_1000_seconds as f64 / 1_000.0)
    }
}

/// How many waiting entries of a lane are called: those that get their turns within
/// `check_in_seconds` at the present speed, at least [`WINDOW_ENTRIES_MIN`], times `growth`, and at
/// most so many that their polls fit into `room` entries, or twice that if the window has grown.
/// `pace` is the pace of the queue if nothing else limits the speed of this lane.
pub fn window_entries(
    speed: LaneSpeed,
    pace: Option<Pace>,
    growth: u64,
    room: u64,
    settings: &Settings,
) -> u64 {
    let at_pace = pace.map_or(0, |pace| pace.batch * 1_000_000 / pace.interval_ms);
    let per_1000_seconds = speed.per_1000_seconds.max(at_pace);
    let wanted = per_1000_seconds * u64::from(settings.check_in_seconds) / 1_000;
    let most = if growth > 1 { 2 * room } else { room };
    (wanted.max(WINDOW_ENTRIES_MIN) * growth).min(most)
}

impl Settings {
    /// The most time between two polls of a called visitor, in milliseconds: a third of
    /// `presence_seconds`.
    pub fn check_in_interval_ms(&self) -> u64 {
        if self.has_presence() {
            self.presence_ms() / 3
        } else {
            POLL_INTERVAL_MS
        }
    }

    /// The pace by which visitors are called if nothing else limits the promotion: the one in force, or in the mode
    /// `passthrough` as many a second as may be called at once.
    pub fn calling_pace(&self, in_force: Pace) -> Pace {
        if self.is_passthrough() {
            Pace {
                batch: self.window_entries_max(),
                interval_ms: 1_000,
            }
        } else {
            in_force
        }
    }

    /// The most entries that may be called at once, by the polls per second that the line answers.
    pub fn window_entries_max(&self) -> u64 {
        u64::from(self.polls_per_second_max) * self.check_in_interval_ms() / 1_000
    }
}

#[cfg(test)]
mod tests;
