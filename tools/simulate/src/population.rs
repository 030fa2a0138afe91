//! The visitors of one scenario, drawn from its seed.

use std::{collections::HashMap, ops::Range};

use rand::{RngExt, SeedableRng, rngs::StdRng};
use vestibule_domain::id::EntryId;

use crate::scenario::{Arrivals, Scenario, ServiceTime, VisitorProfile};

/// How a visitor behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behavior {
    /// Follows `retry_after_ms` and claims each turn, however long the wait is.
    Punctual,
    /// Polls three times as often as told.
    Impatient,
    /// Polls after one and a half times `claim_seconds`, whatever the answer says.
    Late,
    /// Leaves at this time of the simulation, in milliseconds, if still in line.
    LeavesAt(u64),
    /// Stops polling at this time of the simulation, in milliseconds, and does not say so.
    VanishesAt(u64),
    /// Follows the protocol, but the phone falls asleep in line.
    Sleeps {
        /// When it falls asleep, in percent of the wait that is expected at entering.
        from_percent: u8,
        /// How long after the expected turn it wakes, in milliseconds.
        oversleeps_ms: u32,
    },
    /// As [`Behavior::Sleeps`], from the time of entering on.
    SleepsBetween {
        /// When the phone falls asleep, in milliseconds of the simulation.
        from_ms: u32,
        /// When it wakes, in milliseconds of the simulation.
        until_ms: u32,
    },
    /// Enters, and sends nothing any more.
    Fake,
}

impl Behavior {
    /// Whether the visitor keeps to the protocol at this time: polls as told, and claims.
    pub fn is_following(self, now_ms: u64) -> bool {
        match self {
            Self::Punctual | Self::Impatient | Self::LeavesAt(_) | Self::Sleeps { .. } => true,
            Self::VanishesAt(at_ms) => now_ms < at_ms,
            Self::SleepsBetween { .. } => !self.is_asleep(now_ms),
            Self::Late | Self::Fake => false,
        }
    }

    /// Whether the phone sleeps at this time.
    pub fn is_asleep(self, now_ms: u64) -> bool {
        match self {
            Self::SleepsBetween { from_ms, until_ms } => {
                (u64::from(from_ms)..u64::from(until_ms)).contains(&now_ms)
            }
            _ => false,
        }
    }

    /// The behavior of a visitor who has entered and whose wait is expected to be this long.
    #[must_use]
    pub fn after_entering(self, now_ms: u64, eta_ms: u64) -> Self {
        match self {
            Self::Sleeps {
                from_percent,
                oversleeps_ms,
            } => Self::SleepsBetween {
                from_ms: narrow(now_ms + eta_ms.saturating_mul(from_percent.into()) / 100),
                until_ms: narrow(now_ms.saturating_add(eta_ms)).saturating_add(oversleeps_ms),
            },
            other => other,
        }
    }
}

fn narrow(ms: u64) -> u32 {
    u32::try_from(ms).unwrap_or(u32::MAX)
}

/// One visitor.
#[derive(Debug, Clone, Copy)]
pub struct Visitor {
    /// The time of arrival, in milliseconds of the simulation.
    pub arrives_at_ms: u64,
    /// The length of the session, in milliseconds. `None` means that the visitor stays until the session expires.
    pub stay_ms: Option<u64>,
    /// How the visitor behaves.
    pub behavior: Behavior,
}

/// All visitors of a scenario, by time of arrival.
#[derive(Debug)]
pub struct Population {
    /// The visitors.
    pub visitors: Vec<Visitor>,
    /// The entry id of each visitor.
    pub ids: Vec<EntryId>,
    /// The index of the visitor to whom an entry belongs.
    pub visitor_by_id: HashMap<EntryId, u32>,
}

/// A phone that falls asleep does so within this percentage of the expected wait, and wakes this long after the expected
/// turn, in milliseconds.
const SLEEP_FROM_PERCENT_MAX: u8 = 90;
const OVERSLEEPS_MS: Range<u32> = 120_000..900_000;
/// A visitor who leaves or vanishes does so within this time after arrival, in seconds.
const PATIENCE_SECONDS: f64 = 1_800.0;

impl Population {
    /// Draws the visitors. The same scenario gives the same visitors.
    ///
    /// # Panics
    /// Never: the ids have the format of a UUID version 8.
    pub fn from_scenario(scenario: &Scenario) -> Self {
        let mut rng = StdRng::seed_from_u64(scenario.seed);
        let mut visitors: Vec<_> = (0..scenario.visitors)
            .map(|_| draw_visitor(&mut rng, scenario))
            .collect();
        visitors.sort_by_key(|visitor| visitor.arrives_at_ms);
        let ids: Vec<EntryId> = (0..scenario.visitors).map(entry_id).collect();
        let visitor_by_id = ids.iter().copied().zip(0..).collect();
        Self {
            visitors,
            ids,
            visitor_by_id,
        }
    }
}

pub(crate) fn entry_id(number: u32) -> EntryId {
    // Ids that are derived from visitors are spread evenly, so these are spread as well.
    let mixed = u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let text = format!(
        "{:08x}-{:04x}-8{:03x}-8000-{number:012x}",
        mixed >> 32,
        (mixed >> 16) & 0xffff,
        mixed & 0xfff
    );
    text.parse().expect("the text has the format of a UUID version 8")
}

fn draw_visitor(rng: &mut StdRng, scenario: &Scenario) -> Visitor {
    let arrives_at_ms = ms(draw_arrival_seconds(rng, scenario.arrivals));
    let behavior = draw_behavior(rng, scenario.visitor_profile, arrives_at_ms);
    let stay_seconds = match scenario.service_time {
        ServiceTime::LogNormal { mean_seconds, sigma } => {
            Some(mean_seconds * (sigma * draw_normal(rng) - sigma * sigma / 2.0).exp())
        }
        ServiceTime::Exponential { mean_seconds } => Some(mean_seconds * draw_exponential(rng)),
        ServiceTime::WholeSession => None,
    };
    Visitor {
        arrives_at_ms,
        stay_ms: stay_seconds.map(ms),
        behavior,
    }
}

fn draw_behavior(rng: &mut StdRng, profile: VisitorProfile, arrives_at_ms: u64) -> Behavior {
    let mut kind = rng.random::<f64>();
    let end_ms = arrives_at_ms + ms(rng.random::<f64>() * PATIENCE_SECONDS);
    let shares = [
        (profile.vanish, Behavior::VanishesAt(end_ms)),
        (profile.leave, Behavior::LeavesAt(end_ms)),
        (profile.impatient, Behavior::Impatient),
        (profile.late, Behavior::Late),
        (profile.fake, Behavior::Fake),
    ];
    for (share, behavior) in shares {
        if kind < share {
            return behavior;
        }
        kind -= share;
    }
    if kind < profile.sleep {
        return Behavior::Sleeps {
            from_percent: rng.random_range(0..SLEEP_FROM_PERCENT_MAX),
            oversleeps_ms: rng.random_range(OVERSLEEPS_MS),
        };
    }
    Behavior::Punctual
}

fn draw_arrival_seconds(rng: &mut StdRng, arrivals: Arrivals) -> f64 {
    match arrivals {
        Arrivals::Flash { mean_seconds } => loop {
            let at = mean_seconds * draw_exponential(rng);
            if at < 5.0 * mean_seconds {
                break at;
            }
        },
        Arrivals::Steady { duration_seconds } => duration_seconds * rng.random::<f64>(),
        // By rejection sampling. The rate is about twice the mean at the crest and a fifth of it in the trough.
        Arrivals::Wave {
            duration_seconds,
            waves,
        } => loop {
            let at = rng.random::<f64>();
            let rate = 0.55 - 0.45 * (at * waves * std::f64::consts::TAU).cos();
            if rng.random::<f64>() < rate {
                break at * duration_seconds;
            }
        },
    }
}

/// An exponential variate with mean 1.
fn draw_exponential(rng: &mut StdRng) -> f64 {
    -(1.0 - rng.random::<f64>()).ln()
}

/// A standard normal variate, by the method of Box and Muller.
fn draw_normal(rng: &mut StdRng) -> f64 {
    (2.0 * draw_exponential(rng)).sqrt() * (std::f64::consts::TAU * rng.random::<f64>()).cos()
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn ms(seconds: f64) -> u64 {
    (seconds * 1_000.0) as u64
}
