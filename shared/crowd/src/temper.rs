//! How a visitor behaves.

use std::ops::Range;

use serde::Serialize;

use crate::rules::FollowerOptions;

/// How a visitor behaves in line. Durations are in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Conduct {
    /// Waits as told, claims the turn, and stays.
    Honest,
    /// Leaves the line after so long in it, unless the turn comes before.
    Leaves {
        /// From the first answer.
        after_ms: f64,
    },
    /// Sends nothing any more after so long, and does not say so.
    Vanishes {
        /// From the arrival.
        after_ms: f64,
    },
    /// Waits as told, does not claim the turn, and looks until the server has ended it.
    NoShow,
    /// Enters, and sends nothing more.
    Fake,
    /// The phone sleeps at this time. Then the visitor goes on.
    Sleeps {
        /// From the first answer.
        from_ms: f64,
        /// From the first answer.
        until_ms: f64,
    },
    /// The phone falls asleep at a share of the wait that is expected at entering, and wakes so long after the expected turn.
    Oversleeps {
        /// The share of the expected wait.
        from_share: f64,
        /// How long after the expected turn.
        by_ms: f64,
    },
    /// When it is near the head for the first time, the phone sleeps for so long.
    SleepsWhenCalled {
        /// How long.
        for_ms: f64,
    },
    /// Asks so often as told: 3 is three times as often, and less than 1 is late.
    Paces {
        /// The factor of the frequency.
        factor: f64,
    },
    /// Asks no sooner than so long after the last answer, whatever it is told.
    PollsLate {
        /// How long.
        pause_ms: f64,
    },
}

/// A kind of conduct, by which crowds are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ConductKind {
    /// Waits as told, claims the turn, stays, and is completed.
    Honest,
    /// Leaves the line after a while, unless the turn comes before.
    Leaver,
    /// Stops without a word.
    Vanisher,
    /// Waits as told, and does not claim the turn.
    NoShow,
    /// Enters, and sends nothing more.
    Fake,
    /// Sends nothing for a while.
    Sleeper,
    /// Polls at another pace than told.
    Pacer,
}

impl ConductKind {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Honest => "honest",
            Self::Leaver => "leavers",
            Self::Vanisher => "vanishers",
            Self::NoShow => "no-shows",
            Self::Fake => "fakes",
            Self::Sleeper => "sleepers",
            Self::Pacer => "pacers",
        }
    }

    /// Whether the visitor asks as told until the turn, or until it leaves.
    pub fn is_present_in_line(self) -> bool {
        matches!(self, Self::Honest | Self::Leaver | Self::NoShow)
    }
}

impl Conduct {
    /// Its kind.
    pub fn kind(self) -> ConductKind {
        match self {
            Self::Honest => ConductKind::Honest,
            Self::Leaves { .. } => ConductKind::Leaver,
            Self::Vanishes { .. } => ConductKind::Vanisher,
            Self::NoShow => ConductKind::NoShow,
            Self::Fake => ConductKind::Fake,
            Self::Sleeps { .. } | Self::Oversleeps { .. } | Self::SleepsWhenCalled { .. } => {
                ConductKind::Sleeper
            }
            Self::Paces { .. } | Self::PollsLate { .. } => ConductKind::Pacer,
        }
    }
}

/// What ends a stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StayEnd {
    /// The protected service completes the visit.
    Completes,
    /// The visitor leaves.
    Leaves,
    /// Nothing: the session runs out.
    Expires,
}

/// What an active visitor does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stay {
    /// How long the visitor stays, in milliseconds.
    pub length_ms: f64,
    /// How often the protected service validates the visitor meanwhile.
    pub checks: u32,
    /// What ends the stay.
    pub end: StayEnd,
    /// Whether a session that would end before the stay is made longer.
    pub extends: bool,
}

/// The clock of a visitor's device. It reads `offset_ms + rate * t` at the true Unix time `t`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DeviceClock {
    /// By how much it is ahead, in milliseconds.
    pub offset_ms: f64,
    /// How fast it runs. 1 is right.
    pub rate: f64,
}

impl DeviceClock {
    /// A clock that is right.
    pub const RIGHT: Self = Self {
        offset_ms: 0.0,
        rate: 1.0,
    };

    /// What it reads at a true time.
    pub(crate) fn read(self, true_ms: f64) -> f64 {
        self.offset_ms + self.rate * true_ms
    }

    /// The true time at which it reads this.
    pub(crate) fn true_time(self, read_ms: f64) -> f64 {
        (read_ms - self.offset_ms) / self.rate
    }
}

/// How a visitor behaves, from the arrival to the end.
#[derive(Debug, Clone, PartialEq)]
pub struct Temper {
    /// In line.
    pub conduct: Conduct,
    /// While it is let in.
    pub stay: Stay,
    /// How often it enters again after a missed turn. A no-show who does so uses the turn that comes then.
    pub returns: u32,
    /// Whether the protected service lets it in: it validates the turn, which the visitor does not claim.
    pub is_let_in_by_service: bool,
    /// How its client is set.
    pub client: FollowerOptions,
    /// How many tabs follow the place, each by itself. At least 1.
    pub tabs: u8,
    /// The clock of its device.
    pub clock: DeviceClock,
    /// When its device has no network, in milliseconds from the arrival.
    pub offline_ms: Option<Range<f64>>,
}

impl Temper {
    /// Waits as told with the shipped client, and stays for so long.
    pub fn honest(stay_ms: f64) -> Self {
        Self {
            conduct: Conduct::Honest,
            stay: Stay {
                length_ms: stay_ms,
                checks: 0,
                end: StayEnd::Completes,
                extends: true,
            },
            returns: 0,
            is_let_in_by_service: false,
            client: FollowerOptions::default(),
            tabs: 1,
            clock: DeviceClock::RIGHT,
            offline_ms: None,
        }
    }
}
