//! The visitors of one scenario, drawn from its seed: when each arrives, and its temper.

use std::{collections::HashMap, ops::Range};

use rand::{RngExt, SeedableRng, rngs::StdRng};
use vestibule_crowd::{
    rules::FollowerOptions,
    temper::{Conduct, Stay, StayEnd, Temper},
};
use vestibule_domain::id::EntryId;

use crate::{
    scenario::{Scenario, ServiceTime},
    simulation::Clients,
};

/// One visitor.
#[derive(Debug, Clone)]
pub struct DrawnVisitor {
    /// The time of arrival, in milliseconds of the simulation.
    pub arrives_at_ms: u64,
    /// How the visitor behaves.
    pub temper: Temper,
}

/// All visitors of a scenario, by time of arrival.
#[derive(Debug)]
pub struct Population {
    /// The visitors.
    pub visitors: Vec<DrawnVisitor>,
    /// The entry id of each visitor.
    pub ids: Vec<EntryId>,
    /// The index of the visitor to whom an entry belongs.
    pub visitor_by_id: HashMap<EntryId, u32>,
}

/// A phone that falls asleep does so within this share of the expected wait, and wakes this long after the expected turn, in
/// milliseconds.
const SLEEP_FROM_SHARE_MAX: f64 = 0.9;
const OVERSLEEPS_MS: Range<f64> = 120_000.0..900_000.0;
/// A visitor who leaves or vanishes does so within this time after arrival, in milliseconds.
const PATIENCE_MS: f64 = 1_800_000.0;
/// An impatient visitor polls so many times as often as told.
const IMPATIENT_FACTOR: f64 = 3.0;
/// A late visitor polls after so many times `claim_seconds`.
const LATE_CLAIMS: f64 = 1.5;

impl Population {
    /// Draws the visitors. The same scenario gives the same visitors.
    ///
    /// # Panics
    /// Never: the ids have the format of a UUID version 8.
    pub fn from_scenario(scenario: &Scenario, clients: Clients) -> Self {
        let mut rng = StdRng::seed_from_u64(scenario.seed);
        let mut visitors: Vec<_> = (0..scenario.visitors)
            .map(|_| draw_visitor(&mut rng, scenario, clients))
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

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // A time within hours, in milliseconds.
fn draw_visitor(rng: &mut StdRng, scenario: &Scenario, clients: Clients) -> DrawnVisitor {
    let arrivals = scenario.arrivals;
    let share_of_time = arrivals.curve.time_of(rng.random());
    let conduct = draw_conduct(rng, scenario);
    DrawnVisitor {
        arrives_at_ms: (arrivals.duration_seconds * 1_000.0 * share_of_time) as u64,
        temper: Temper {
            conduct,
            stay: draw_stay(rng, scenario),
            client: FollowerOptions {
                reads_documents: clients == Clients::Following,
                ..FollowerOptions::default()
            },
            ..Temper::honest(0.0)
        },
    }
}

fn draw_stay(rng: &mut StdRng, scenario: &Scenario) -> Stay {
    let stay_seconds = match scenario.service_time {
        ServiceTime::LogNormal { mean_seconds, sigma } => {
            Some(mean_seconds * (sigma * draw_normal(rng) - sigma * sigma / 2.0).exp())
        }
        ServiceTime::Exponential { mean_seconds } => Some(mean_seconds * draw_exponential(rng)),
        ServiceTime::WholeSession => None,
    };
    let (length_seconds, end) = match stay_seconds {
        Some(seconds) => (seconds, StayEnd::Completes),
        None => (f64::from(scenario.settings.session_seconds), StayEnd::Expires),
    };
    Stay {
        length_ms: length_seconds * 1_000.0,
        checks: scenario.deployment.checks,
        end,
        extends: false,
    }
}

fn draw_conduct(rng: &mut StdRng, scenario: &Scenario) -> Conduct {
    let profile = scenario.visitor_profile;
    let mut kind = rng.random::<f64>();
    let after_ms = rng.random::<f64>() * PATIENCE_MS;
    let shares = [
        (profile.vanish, Conduct::Vanishes { after_ms }),
        (profile.leave, Conduct::Leaves { after_ms }),
        (
            profile.impatient,
            Conduct::Paces {
                factor: IMPATIENT_FACTOR,
            },
        ),
        (
            profile.late,
            Conduct::PollsLate {
                pause_ms: LATE_CLAIMS * 1_000.0 * f64::from(scenario.settings.claim_seconds),
            },
        ),
        (profile.fake, Conduct::Fake),
    ];
    for (share, conduct) in shares {
        if kind < share {
            return conduct;
        }
        kind -= share;
    }
    if kind < profile.sleep {
        return Conduct::Oversleeps {
            from_share: rng.random_range(0.0..SLEEP_FROM_SHARE_MAX),
            by_ms: rng.random_range(OVERSLEEPS_MS),
        };
    }
    Conduct::Honest
}

/// An exponential variate with mean 1.
fn draw_exponential(rng: &mut StdRng) -> f64 {
    -(1.0 - rng.random::<f64>()).ln()
}

/// A standard normal variate, by the method of Box and Muller.
fn draw_normal(rng: &mut StdRng) -> f64 {
    (2.0 * draw_exponential(rng)).sqrt() * (std::f64::consts::TAU * rng.random::<f64>()).cos()
}
