//! The promise of [`retry_after_ms`](vestibule_domain::poll_pacing::retry_after_ms): a punctual visitor never loses a
//! turn, even if no poll is held, requests are late, the promoter is irregular and the operator goes to extremes.

use vestibule_domain::settings::Settings;
use vestibule_simulate::{
    deployment::Deployment,
    run_figures::RunFigures,
    scenario::{Arrivals, Network, Operator, Promoter, Scenario, ServiceTime, VisitorProfile},
    simulation::{Clients, run_scenario},
};

const SEEDS: u32 = 12;
const VISITORS: u32 = 10_000;

fn extremes(seed: u64, visitor_profile: VisitorProfile) -> Scenario {
    Scenario {
        name: "extremes",
        visitors: VISITORS,
        seed,
        arrivals: Arrivals::Steady {
            duration_seconds: 300.0,
        },
        service_time: ServiceTime::Exponential { mean_seconds: 10.0 },
        visitor_profile,
        settings: Settings::default(),
        promoter: Promoter::Irregular,
        operator: Operator::Extreme,
        network: Network::Slow,
        held_budget: 0,
        outage_ms: None,
        deployment: Deployment::default(),
    }
}

#[test]
fn a_punctual_visitor_never_loses_a_turn() {
    let (mut polls, mut settings_changes, mut retry_after_ms_max) = (0.0, 0, 0);
    for seed in 1..=u64::from(SEEDS) {
        let outcome = run_scenario(&extremes(seed, VisitorProfile::default()), Clients::Paced);
        let lost = (outcome.lost_turns, outcome.no_shows);
        assert_eq!(lost, (0, 0), "seed {seed}: visitors lost turns");
        assert_eq!(
            outcome.served,
            u64::from(VISITORS),
            "seed {seed}: not all were admitted"
        );
        assert_eq!(outcome.out_of_order, 0, "seed {seed}: a visitor was overtaken");
        assert_eq!(
            outcome.overshoot, 0,
            "seed {seed}: admissions exceeded pace or capacity"
        );
        assert_eq!(outcome.held_max, 0, "seed {seed}: polls were held");
        polls += RunFigures::from_outcome(&outcome).polls_mean;
        settings_changes += outcome.settings_changes;
        retry_after_ms_max = retry_after_ms_max.max(outcome.retry_after_ms_max);
    }
    let polls_mean = polls / f64::from(SEEDS);
    println!(
        "{polls_mean:.1} polls each, {settings_changes} changes, retry_after_ms up to {retry_after_ms_max}"
    );
    assert!(
        polls_mean > 1.0 && settings_changes > u64::from(SEEDS) * 15 && retry_after_ms_max >= 30_000,
        "the runs were not extreme: {polls_mean} polls, {settings_changes} changes, {retry_after_ms_max} ms"
    );
}

/// The control: the simulation detects lost turns. Presence is off, since a line passes over visitors who poll so rarely.
#[test]
fn a_visitor_who_polls_later_than_told_loses_turns() {
    let late = VisitorProfile {
        late: 1.0,
        ..VisitorProfile::default()
    };
    let mut scenario = extremes(1, late);
    scenario.settings.presence_seconds = 0;
    let outcome = run_scenario(&scenario, Clients::Paced);
    assert!(
        outcome.no_shows > u64::from(VISITORS) / 20,
        "only {} turns were lost",
        outcome.no_shows
    );
    assert_eq!(outcome.served, u64::from(VISITORS), "not all had a turn");
}
