//! The scenarios: who arrives, and what happens to the queue meanwhile.

use std::ops::Range;

use vestibule_domain::{poll_pacing::HELD_BUDGET, settings::Settings};

use crate::deployment::Deployment;

/// When visitors arrive.
#[derive(Debug, Clone, Copy)]
pub enum Arrivals {
    /// Most visitors arrive at the start. The times are exponential and are cut off at five times the mean.
    Flash {
        /// The mean time of arrival, in seconds.
        mean_seconds: f64,
    },
    /// The rate of arrivals rises and falls.
    Wave {
        /// The time over which visitors arrive, in seconds.
        duration_seconds: f64,
        /// The number of waves in that time.
        waves: f64,
    },
    /// The rate of arrivals is constant.
    Steady {
        /// The time over which visitors arrive, in seconds.
        duration_seconds: f64,
    },
}

/// How long an active visitor stays. The session may end earlier.
#[derive(Debug, Clone, Copy)]
pub enum ServiceTime {
    /// Most stays are shorter than the mean, and some are far longer.
    LogNormal {
        /// The mean, in seconds.
        mean_seconds: f64,
        /// The standard deviation of the logarithm.
        sigma: f64,
    },
    /// Stays without memory.
    Exponential {
        /// The mean, in seconds.
        mean_seconds: f64,
    },
    /// Each visitor stays until the session expires.
    WholeSession,
}

/// The shares of visitors who are not punctual. The others follow `retry_after_ms` and claim each turn.
#[derive(Debug, Clone, Copy, Default)]
pub struct VisitorProfile {
    /// The share that closes the page without leaving the line. Such a visitor becomes a no-show.
    pub vanish: f64,
    /// The share that leaves the line before its turn.
    pub leave: f64,
    /// The share that polls three times as often as told.
    pub impatient: f64,
    /// The share that polls later than told: after one and a half times `claim_seconds`.
    pub late: f64,
    /// The share whose phones fall asleep in line and wake after the turn would have come.
    pub sleep: f64,
    /// The share that enters and never sends another request.
    pub fake: f64,
}

/// When the promoter runs. While it is down, requests run fallback ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Promoter {
    /// It ticks once a second. Each minute it pauses for two seconds, as one promoter ends and the next begins.
    Running,
    /// It also goes down from time to time, for up to two minutes.
    SometimesDown,
    /// Its ticks are irregular: 0.2 to 2.5 s apart, and one in 50 is 10 to 60 s late.
    Irregular,
    /// It never runs.
    Down,
}

/// How the operator changes the settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// The settings stay as they are.
    Absent,
    /// Every few minutes the operator changes the pace or the capacity, or pauses the queue.
    Moderate,
    /// Several times a minute the operator changes any setting, also `claim_seconds`. At times the line hardly
    /// moves, and each visitor is told to poll late. Then the operator raises pace and capacity to the maximum,
    /// and the turns of visitors far back in line come at once.
    Extreme,
    /// The operator multiplies pace and capacity once.
    RaisesRate {
        /// When, in milliseconds of the simulation.
        at_ms: u64,
        /// The factor.
        factor: u32,
    },
}

/// How late requests are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// A poll is up to 0.3 s late, and one in 100 up to 3 s. A claim is up to 1 s late.
    Usual,
    /// Each poll is up to 2 s late and each claim up to 1.2 s. A snapshot of the queue is up to 2 s old. The
    /// sum stays within the third of the shortest `claim_seconds` that the pacing leaves as a reserve.
    Slow,
}

/// One scenario.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// The name.
    pub name: &'static str,
    /// The number of visitors.
    pub visitors: u32,
    /// The seed of all random draws.
    pub seed: u64,
    /// When visitors arrive.
    pub arrivals: Arrivals,
    /// How long active visitors stay.
    pub service_time: ServiceTime,
    /// How visitors behave.
    pub visitor_profile: VisitorProfile,
    /// The settings of the queue at the start.
    pub settings: Settings,
    /// When the promoter runs.
    pub promoter: Promoter,
    /// How the operator changes the settings.
    pub operator: Operator,
    /// How late requests are.
    pub network: Network,
    /// The most polls that may be held at the same time.
    pub held_budget: u64,
    /// While the API refuses all requests with 503 and the line stands, in milliseconds of the simulation.
    pub outage_ms: Option<Range<u64>>,
    /// The deployment between the visitors and the line.
    pub deployment: Deployment,
}

/// The names of the scenarios without ceilings.
pub const NAMES: [&str; 11] = [
    "flash",
    "wave",
    "steady",
    "sessions",
    "impatient",
    "outages",
    "unattended",
    "operator",
    "quiet",
    "full",
    "refused",
];
/// The time in which the line serves all visitors, in seconds. The last ones therefore wait for more than half
/// an hour.
const SERVED_IN_SECONDS: f64 = 2_400.0;
const SESSION_SECONDS: u32 = 600;

impl Scenario {
    /// The scenario of this name, or `None`. The rate of service grows with the number of visitors, so waits do not.
    ///
    /// Presence is off: the polls of fixed clients are counted and not sent, so they check in nowhere.
    pub fn by_name(name: &str, visitors: u32, seed: u64) -> Option<Self> {
        let mut scenario = Self::with_presence(name, visitors, seed)?;
        scenario.settings.presence_seconds = 0;
        Some(scenario)
    }

    fn with_presence(name: &str, visitors: u32, seed: u64) -> Option<Self> {
        let name = *NAMES.iter().find(|scenario| **scenario == name)?;
        let served_per_second = f64::from(visitors) / SERVED_IN_SECONDS;
        let usual = Self {
            name,
            visitors,
            seed,
            arrivals: Arrivals::Flash { mean_seconds: 60.0 },
            service_time: ServiceTime::LogNormal {
                mean_seconds: 120.0,
                sigma: 0.7,
            },
            visitor_profile: VisitorProfile {
                vanish: 0.08,
                leave: 0.04,
                ..VisitorProfile::default()
            },
            settings: with_pace(served_per_second * 1.3, served_per_second * 120.0),
            promoter: Promoter::Running,
            operator: Operator::Absent,
            network: Network::Usual,
            held_budget: HELD_BUDGET.into(),
            outage_ms: None,
            deployment: Deployment::default(),
        };
        Some(match name {
            // The capacity is the limit: nearly all slots are taken most of the time.
            "wave" => Self {
                arrivals: Arrivals::Wave {
                    duration_seconds: 3_600.0,
                    waves: 2.5,
                },
                settings: with_pace(served_per_second, served_per_second * 90.0),
                ..usual
            },
            // The pace is the limit.
            "steady" => Self {
                arrivals: Arrivals::Steady {
                    duration_seconds: 2_400.0,
                },
                service_time: ServiceTime::Exponential { mean_seconds: 90.0 },
                settings: with_pace(served_per_second * 0.85, served_per_second * 300.0),
                ..usual
            },
            "sessions" => Self {
                service_time: ServiceTime::WholeSession,
                settings: Settings {
                    session_seconds: 300,
                    ..with_pace(served_per_second * 2.0, served_per_second * 300.0)
                },
                ..usual
            },
            "impatient" => Self {
                visitor_profile: VisitorProfile {
                    vanish: 0.2,
                    leave: 0.25,
                    impatient: 0.2,
                    ..VisitorProfile::default()
                },
                service_time: ServiceTime::Exponential { mean_seconds: 60.0 },
                settings: with_pace(served_per_second, served_per_second * 45.0),
                ..usual
            },
            "outages" => Self {
                promoter: Promoter::SometimesDown,
                ..usual
            },
            "unattended" => Self {
                promoter: Promoter::Down,
                ..usual
            },
            "operator" => Self {
                operator: Operator::Moderate,
                ..usual
            },
            // The line hardly moves: a tenth of the visitors, and one free slot every few seconds.
            "quiet" => Self {
                visitors: (visitors / 10).max(1),
                settings: with_pace(served_per_second / 10.0 * 1.5, served_per_second / 10.0 * 110.0),
                ..usual
            },
            // The queue fills up within seconds, and no visitor leaves before the session ends. So for the first
            // five minutes only the settings say how long the wait is.
            "full" => Self {
                arrivals: Arrivals::Flash { mean_seconds: 1.0 },
                service_time: ServiceTime::WholeSession,
                settings: Settings {
                    session_seconds: 300,
                    interval_seconds: 1,
                    ..with_pace(f64::from(visitors) / 70.0, f64::from(visitors) / 7.0)
                },
                ..usual
            },
            // Requests are refused for a minute.
            "refused" => Self {
                outage_ms: Some(600_000..660_000),
                ..usual
            },
            _ => usual,
        })
    }
}

/// Settings with this pace, in batches of ten seconds each.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub fn with_pace(per_second: f64, capacity: f64) -> Settings {
    Settings {
        capacity: (capacity.ceil() as u32).max(1),
        batch: ((per_second * 10.0).ceil() as u32).max(1),
        interval_seconds: 10,
        claim_seconds: 60,
        session_seconds: SESSION_SECONDS,
        ..Settings::default()
    }
}
