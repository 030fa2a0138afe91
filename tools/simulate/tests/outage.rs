//! An outage brings no herd: while all requests are refused with 503, clients that keep to `Retry-After` and add their
//! own delay poll hardly more than before, and all of them are back within one `retry_after_ms`.

use std::ops::Range;

use vestibule_domain::{poll_pacing::HELD_BUDGET, settings::Settings};
use vestibule_simulate::{
    deployment::Deployment,
    outcome::Outcome,
    scenario::{Arrivals, Network, Operator, Promoter, Scenario, ServiceTime, VisitorProfile},
    simulation::{Clients, run_scenario},
};

const WAITING: u32 = 1_000;
const CLAIM_SECONDS: u32 = 60;
/// The longest `retry_after_ms`: two thirds of the time to claim.
const RETRY_AFTER_MS_MAX: u64 = 40_000;
/// A poll is this late at most in a usual network, in milliseconds.
const POLL_DELAY_MS_MAX: u64 = 3_000;
/// The outage, and the same time before it, in seconds.
const OUTAGE: Range<usize> = 180..240;
const BEFORE: Range<usize> = 120..180;

/// A line of which about a thousand visitors wait when the outage begins. `served_in_seconds` is the time in which it
/// serves a thousand visitors.
fn line(served_in_seconds: f64, seed: u64) -> Scenario {
    let per_second = f64::from(WAITING) / served_in_seconds;
    let rounded = |number: f64| {
        format!("{number:.0}")
            .parse::<u32>()
            .expect("a small number")
            .max(1)
    };
    // Those who are let in before the outage come on top.
    let seconds = f64::from(u32::try_from(OUTAGE.start).expect("small"));
    let let_in = rounded(per_second * seconds);
    let interval_seconds = rounded(10.0 / per_second).clamp(1, 60);
    Scenario {
        name: "outage",
        visitors: WAITING + let_in,
        seed,
        arrivals: Arrivals::Flash { mean_seconds: 5.0 },
        service_time: ServiceTime::Exponential { mean_seconds: 10.0 },
        visitor_profile: VisitorProfile::default(),
        settings: Settings {
            capacity: 10_000,
            batch: rounded(per_second * f64::from(interval_seconds)),
            interval_seconds,
            claim_seconds: CLAIM_SECONDS,
            ..Settings::default()
        },
        promoter: Promoter::Running,
        operator: Operator::Absent,
        network: Network::Usual,
        held_budget: HELD_BUDGET.into(),
        outage_ms: Some(OUTAGE.start as u64 * 1_000..OUTAGE.end as u64 * 1_000),
        deployment: Deployment::default(),
    }
}

fn polls(outcome: &Outcome, seconds: Range<usize>) -> u32 {
    outcome.polls_per_second[seconds].iter().sum()
}

#[test]
fn an_outage_of_a_minute_brings_no_herd() {
    // A place in line is served after three minutes, ten minutes, and an hour.
    for served_in_seconds in [180.0, 600.0, 3_600.0] {
        for seed in 1..=4 {
            let scenario = line(served_in_seconds, seed);
            let outcome = run_scenario(&scenario, Clients::Paced);
            let (before, during) = (polls(&outcome, BEFORE), polls(&outcome, OUTAGE));
            let most = outcome.polls_per_second[OUTAGE.start..OUTAGE.end + 60]
                .iter()
                .max();
            let most = *most.expect("a maximum");
            println!(
                "1,000 served in {served_in_seconds} s, seed {seed}: {before} polls before, {during} during, at most \
                 {most} a second, {} back within {} ms",
                outcome.refused_visitors, outcome.return_ms_max
            );
            assert!(
                f64::from(during) <= 1.5 * f64::from(before),
                "{during} polls instead of {before}"
            );
            assert!(
                outcome.refused_visitors > u64::from(WAITING) * 9 / 10,
                "only {} visitors were refused and came back",
                outcome.refused_visitors
            );
            assert!(
                outcome.return_ms_max <= RETRY_AFTER_MS_MAX + POLL_DELAY_MS_MAX,
                "the last visitor was back after {} ms",
                outcome.return_ms_max
            );
            assert!(most <= 150, "{most} polls in one second");
            let lost = (outcome.lost_turns, outcome.no_shows);
            assert_eq!(lost, (0, 0), "visitors lost turns");
            let violations = (outcome.overshoot, outcome.out_of_order);
            assert_eq!(violations, (0, 0), "pace, capacity or order were violated");
        }
    }
}

/// As soon as the line is back, it promotes as many entries as it has slots, long before their clients ask again.
#[test]
fn a_gate_opened_after_an_outage_costs_no_turn() {
    for seed in 1..=8 {
        let scenario = Scenario {
            // All slots, and tokens for them, come free while no client can ask.
            settings: Settings {
                capacity: 500,
                batch: 500,
                interval_seconds: 30,
                session_seconds: 60,
                claim_seconds: 10 + u32::try_from(seed).expect("small") * 10,
                ..Settings::default()
            },
            service_time: ServiceTime::WholeSession,
            visitors: 4_000,
            ..line(3_600.0, seed)
        };
        let outcome = run_scenario(&scenario, Clients::Paced);
        assert!(
            outcome.refused_visitors > 0,
            "seed {seed}: no visitor was refused"
        );
        assert_eq!((outcome.lost_turns, outcome.no_shows), (0, 0), "seed {seed}");
    }
}
