//! The scenarios of a crowd in a deployment with ceilings.

use vestibule_domain::settings::Settings;
use vestibule_sizing::{ceilings::Ceilings, facts::HELD_BUDGET};

use crate::{
    crowd_plan::CrowdPlan,
    deployment::{CdnBehavior, Deployment},
    scenario::{Arrivals, Network, Operator, Promoter, Scenario, ServiceTime, VisitorProfile, with_pace},
};

/// The names of the scenarios with ceilings.
pub const CROWD_NAMES: [&str; 8] = [
    "crowd",
    "sleepers",
    "fakes",
    "jump",
    "front-door",
    "old-copies",
    "rush",
    "brisk",
];
/// The mean stay of an active visitor, in seconds.
const STAY_SECONDS: f64 = 120.0;
/// The slots are so many times those that are taken on average. So the pace limits the line.
const SLOTS_PER_TAKEN: f64 = 1.2;
/// The rate is raised so many times, this long after the crowd has arrived, in milliseconds.
const RAISED_TIMES: u32 = 10;
const RAISED_AFTER_MS: u64 = 300_000;
/// When the front door goes down, and for how long, in milliseconds: longer than `grace_seconds`.
const FRONT_DOOR_DOWN_AT_MS: u64 = 2_400_000;
const FRONT_DOOR_DOWN_MS: u64 = 660_000;
/// How long an edge location keeps an old copy, in milliseconds.
const OLD_COPY_MS: u64 = 90_000;
/// The mean time of arrival in a rush, in seconds.
const RUSH_SECONDS: f64 = 60.0;
/// A crowd whose visitors need a slot for some seconds, like that of `make bench-crowd`: the mean time of arrival, the mean
/// stay and the time of the whole sale in seconds, and the slots as seconds of the pace.
const BRISK_ARRIVAL_SECONDS: f64 = 8.0;
const BRISK_STAY_SECONDS: f64 = 5.0;
const BRISK_SALE_SECONDS: f64 = 250.0;
const BRISK_SLOT_SECONDS: f64 = 6.0;

/// A crowd and its deployment.
#[derive(Debug, Clone, Copy)]
pub struct CrowdParameters {
    /// The number of visitors.
    pub visitors: u32,
    /// The seed of all random draws.
    pub seed: u64,
    /// Entry polls per second that the hash slot of the queue answers.
    pub slot_polls_per_second: u32,
    /// How often the protected service validates an active visitor.
    pub checks: u32,
    /// How long visitors wait on average, in seconds, or longer if the slot is too slow.
    pub wait_seconds: u32,
}

/// The scenario of this name, or `None`.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub fn crowd_by_name(name: &str, crowd: CrowdParameters) -> Option<Scenario> {
    let name = *CROWD_NAMES.iter().find(|scenario| **scenario == name)?;
    let CrowdParameters {
        visitors,
        seed,
        checks,
        ..
    } = crowd;
    let defaults = Ceilings::with_slot(crowd.slot_polls_per_second);
    let plan = CrowdPlan::for_crowd(
        visitors,
        &defaults,
        checks,
        crowd.wait_seconds,
        &Settings::default(),
    );
    let usual = Scenario {
        name,
        visitors,
        seed,
        arrivals: Arrivals::Steady {
            duration_seconds: plan.arrives_in_seconds,
        },
        service_time: ServiceTime::LogNormal {
            mean_seconds: STAY_SECONDS,
            sigma: 0.7,
        },
        visitor_profile: VisitorProfile {
            vanish: 0.08,
            leave: 0.04,
            ..VisitorProfile::default()
        },
        settings: with_spare_slots(plan.per_second),
        promoter: Promoter::Running,
        operator: Operator::Absent,
        network: Network::Usual,
        held_budget: HELD_BUDGET.whole().into(),
        outage_ms: None,
        deployment: Deployment {
            ceilings: Some(plan.ceilings),
            checks,
            ..Deployment::default()
        },
    };
    let profile = usual.visitor_profile;
    let deployment = usual.deployment.clone();
    Some(match name {
        "sleepers" => Scenario {
            visitor_profile: VisitorProfile {
                sleep: 0.2,
                ..profile
            },
            ..usual
        },
        "fakes" => Scenario {
            visitor_profile: VisitorProfile { fake: 0.3, ..profile },
            ..usual
        },
        "jump" => Scenario {
            settings: with_spare_slots(plan.per_second / f64::from(RAISED_TIMES)),
            operator: Operator::RaisesRate {
                at_ms: (plan.arrives_in_seconds * 1_000.0) as u64 + RAISED_AFTER_MS,
                factor: RAISED_TIMES,
            },
            ..usual
        },
        "front-door" => Scenario {
            deployment: Deployment {
                front_door_down_ms: Some(FRONT_DOOR_DOWN_AT_MS..FRONT_DOOR_DOWN_AT_MS + FRONT_DOOR_DOWN_MS),
                ..deployment
            },
            ..usual
        },
        "old-copies" => Scenario {
            deployment: Deployment {
                cdn: CdnBehavior::ServesOldCopies { kept_ms: OLD_COPY_MS },
                ..deployment
            },
            ..usual
        },
        "rush" => Scenario {
            arrivals: Arrivals::Flash {
                mean_seconds: RUSH_SECONDS,
            },
            ..usual
        },
        "brisk" => with_short_stays(usual),
        _ => usual,
    })
}

/// The crowd with visitors who need a slot for some seconds.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn with_short_stays(usual: Scenario) -> Scenario {
    let per_second = f64::from(usual.visitors) / BRISK_SALE_SECONDS;
    Scenario {
        arrivals: Arrivals::Flash {
            mean_seconds: BRISK_ARRIVAL_SECONDS,
        },
        service_time: ServiceTime::Exponential {
            mean_seconds: BRISK_STAY_SECONDS,
        },
        settings: Settings {
            batch: per_second.ceil() as u32,
            interval_seconds: 1,
            claim_seconds: 20,
            session_seconds: 300,
            ..with_pace(per_second, per_second * BRISK_SLOT_SECONDS)
        },
        ..usual
    }
}

/// Settings with this pace, and slots to spare.
fn with_spare_slots(per_second: f64) -> Settings {
    with_pace(per_second, per_second * STAY_SECONDS * SLOTS_PER_TAKEN)
}
