//! Compares the limit that a plan predicts with the limit of a simulated deployment, whose hash slot refuses what is beyond
//! its ceiling.

use vestibule_domain::settings::Settings;
use vestibule_simulate::{
    crowd_scenarios::{CrowdParameters, crowd_by_name},
    parallel::run_on_all_cores,
    scenario::{Arrivals, Scenario, with_pace},
    simulation::{Clients, run_scenario},
};
use vestibule_sizing::{ceilings::Ceilings, crowd_sizing::highest, load::CrowdLoad};

const VISITORS: u32 = 20_000;
const SLOT_POLLS_PER_SECOND: u32 = 300;
/// The mean stay of an active visitor, and the capacity relative to the slots that are taken: the pace limits the line.
const STAY_SECONDS: f64 = 120.0;
const SLOTS_PER_TAKEN: f64 = 1.2;
/// More executions than any function needs, so that the hash slot is full first.
const EXECUTIONS: u32 = 10_000;
/// The measured limit is the highest pace at which no more of the requests are refused than one in a thousand: a crowd is
/// uneven.
const REFUSED_SHARE_MAX: f64 = 0.001;
/// The paces that are tried, relative to the predicted limit.
const TRIED: [f64; 9] = [0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4];

/// The crowd that the plan is for, which enters a fifth faster than it is let in.
fn load(checks: u32, settings: &Settings, pace: f64) -> CrowdLoad<'_> {
    CrowdLoad {
        visitors: VISITORS.into(),
        checks,
        settings,
        entering_per_second: pace * 1.25,
    }
}

/// The highest pace whose load fits in the slot, by the formulas of the plan.
fn predicted_limit(checks: u32) -> f64 {
    let settings = Settings::default();
    highest(f64::from(SLOT_POLLS_PER_SECOND), |pace| {
        load(checks, &settings, pace).slot_polls_per_second(pace) <= f64::from(SLOT_POLLS_PER_SECOND)
    })
}

/// A crowd that is let in at this pace, in a deployment where nothing but the slot is full.
fn scenario(checks: u32, pace: f64) -> Scenario {
    let parameters = CrowdParameters {
        visitors: VISITORS,
        seed: 7,
        slot_polls_per_second: SLOT_POLLS_PER_SECOND,
        checks,
        wait_seconds: 0,
    };
    let mut scenario = crowd_by_name("crowd", parameters).expect("the scenario exists");
    let settings = Settings::default();
    scenario.arrivals = Arrivals::Steady {
        duration_seconds: load(checks, &settings, pace).arrives_in_seconds(),
    };
    scenario.settings = with_pace(pace, pace * STAY_SECONDS * SLOTS_PER_TAKEN);
    let ceilings = Ceilings::with_slot(SLOT_POLLS_PER_SECOND);
    scenario.deployment.ceilings = Some(Ceilings {
        concurrency: ceilings.concurrency.map(|_| EXECUTIONS),
        ..ceilings
    });
    scenario
}

/// The highest of the tried paces that the slot carries.
#[allow(clippy::cast_precision_loss)]
fn measured_limit(checks: u32, predicted: f64) -> f64 {
    let paces = TRIED.map(|share| predicted * share);
    let is_carried = run_on_all_cores(&paces, |pace| {
        let traffic = run_scenario(&scenario(checks, *pace), Clients::Following)
            .traffic
            .expect("the deployment has ceilings");
        let refused = traffic.overloaded as f64 / traffic.origin_requests as f64;
        println!("checks {checks}, pace {pace:.2}: {refused:.5} of the requests refused");
        refused <= REFUSED_SHARE_MAX
    });
    let carried = paces
        .iter()
        .zip(is_carried)
        .take_while(|(_, is_carried)| *is_carried);
    carried.last().map_or(0.0, |(pace, _)| *pace)
}

#[test]
fn a_plan_predicts_the_limit_of_the_simulated_slot_within_a_fifth() {
    for checks in [0, 6] {
        let predicted = predicted_limit(checks);
        let measured = measured_limit(checks, predicted);
        let ratio = predicted / measured;
        println!(
            "checks {checks}: predicted {predicted:.2} per second, measured {measured:.2}, ratio {ratio:.2}"
        );
        assert!((0.8..=1.2).contains(&ratio), "{ratio}");
    }
}
