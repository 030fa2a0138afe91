//! Who comes, and what happens to the queue meanwhile.

use vestibule_domain::{poll_pacing::HELD_BUDGET, settings::Settings};

/// How a crowd arrives.
#[derive(Debug, Clone, Copy)]
pub enum Arrivals {
    /// Most at once, and fewer and fewer: exponential, with this mean in seconds, until five times that.
    Flash {
        /// Seconds.
        mean: f64,
    },
    /// In waves: so many over the whole time.
    Wave {
        /// Seconds.
        over: f64,
        /// How many times the rate goes up and down.
        waves: f64,
    },
    /// As many each second over the whole time.
    Steady {
        /// Seconds.
        over: f64,
    },
}

/// How long whoever was let in stays, in seconds, if the session is as long.
#[derive(Debug, Clone, Copy)]
pub enum Service {
    /// Around this mean, most shorter and some far longer: log-normal with this spread.
    LogNormal {
        /// Seconds.
        mean: f64,
        /// The standard deviation of its logarithm.
        sigma: f64,
    },
    /// Memoryless.
    Exponential {
        /// Seconds.
        mean: f64,
    },
    /// Until the session ends: nobody says that they are done.
    WholeSession,
}

/// Which part of the crowd behaves how; everybody else keeps to what they are told.
#[derive(Debug, Clone, Copy)]
pub struct Manners {
    /// Close the page at some moment and say nothing: who would have been served later is a no-show.
    pub silent: f64,
    /// Lose patience and leave.
    pub leavers: f64,
    /// Poll three times as often as told.
    pub impatient: f64,
}

/// Whether the promoter is there; where it is not, those who call drive the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Promoter {
    /// All the time.
    There,
    /// But for up to two minutes now and then.
    AwayAtTimes,
    /// Never.
    Away,
}

/// One scenario.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// Its name.
    pub name: &'static str,
    /// How many visitors.
    pub visitors: u32,
    /// From which everything is drawn.
    pub seed: u64,
    /// How they arrive.
    pub arrivals: Arrivals,
    /// How long they stay.
    pub service: Service,
    /// How they behave.
    pub manners: Manners,
    /// What the queue is set to at first.
    pub settings: Settings,
    /// Whether the promoter is there.
    pub promoter: Promoter,
    /// Whether an operator turns things.
    pub operator: bool,
    /// The most polls that are held at once.
    pub held_budget: u64,
}

/// Every scenario there is.
pub const NAMES: [&str; 9] = [
    "flash",
    "wave",
    "steady",
    "sessions",
    "impatient",
    "outages",
    "unattended",
    "operator",
    "quiet",
];
/// A whole crowd is served in about so many seconds, so that the last one waits for more than half an hour.
const SERVED_IN_SECONDS: f64 = 2_400.0;
const SESSION_SECONDS: u32 = 600;

impl Scenario {
    /// The scenario of that name; `None` where there is none. Waits stay the same however many come: what is served a
    /// second grows with them.
    pub fn named(name: &str, visitors: u32, seed: u64) -> Option<Self> {
        let name = *NAMES.iter().find(|known| **known == name)?;
        let served = f64::from(visitors) / SERVED_IN_SECONDS;
        let usual = Self {
            name,
            visitors,
            seed,
            arrivals: Arrivals::Flash { mean: 60.0 },
            service: Service::LogNormal {
                mean: 120.0,
                sigma: 0.7,
            },
            manners: Manners {
                silent: 0.08,
                leavers: 0.04,
                impatient: 0.0,
            },
            settings: settings(served * 1.3, served * 120.0),
            promoter: Promoter::There,
            operator: false,
            held_budget: HELD_BUDGET.into(),
        };
        Some(match name {
            // Turn-over is the limit: slots are taken for most of the time.
            "wave" => Self {
                arrivals: Arrivals::Wave {
                    over: 3_600.0,
                    waves: 2.5,
                },
                settings: settings(served, served * 90.0),
                ..usual
            },
            // The pace is the limit.
            "steady" => Self {
                arrivals: Arrivals::Steady { over: 2_400.0 },
                service: Service::Exponential { mean: 90.0 },
                settings: settings(served * 0.85, served * 300.0),
                ..usual
            },
            "sessions" => Self {
                service: Service::WholeSession,
                settings: Settings {
                    session_seconds: 300,
                    ..settings(served * 2.0, served * 300.0)
                },
                ..usual
            },
            "impatient" => Self {
                manners: Manners {
                    silent: 0.2,
                    leavers: 0.25,
                    impatient: 0.2,
                },
                service: Service::Exponential { mean: 60.0 },
                settings: settings(served, served * 45.0),
                ..usual
            },
            "outages" => Self {
                promoter: Promoter::AwayAtTimes,
                ..usual
            },
            "unattended" => Self {
                promoter: Promoter::Away,
                ..usual
            },
            "operator" => Self {
                operator: true,
                ..usual
            },
            // A line that hardly moves: a tenth of the crowd, one slot each few seconds.
            "quiet" => Self {
                visitors: (visitors / 10).max(1),
                settings: settings(served / 10.0 * 1.5, served / 10.0 * 110.0),
                ..usual
            },
            _ => usual,
        })
    }
}

/// So many a second at most, each ten seconds a batch of them.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn settings(per_second: f64, capacity: f64) -> Settings {
    Settings {
        capacity: (capacity.ceil() as u32).max(1),
        batch: ((per_second * 10.0).ceil() as u32).max(1),
        interval_seconds: 10,
        claim_seconds: 60,
        session_seconds: SESSION_SECONDS,
        ..Settings::default()
    }
}
