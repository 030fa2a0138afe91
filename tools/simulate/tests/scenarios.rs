//! Runs each scenario with a small crowd and checks the promises to the protected service and to the visitors.

use std::ops::Range;

use vestibule_simulate::{
    outcome::{Outcome, Sample, VisitorOutcome},
    run_figures::RunFigures,
    scenario::{NAMES, Scenario},
    simulation::{Clients, FIXED_POLL_MS, SAMPLE_MS, run_scenario},
};

const VISITORS: u32 = 20_000;
const SEED: u64 = 11;

fn scenario(name: &str) -> Scenario {
    Scenario::by_name(name, VISITORS, SEED).expect("the scenario exists")
}

/// Runs a scenario with paced clients and checks what every scenario promises.
fn run_paced(name: &str) -> Outcome {
    let scenario = scenario(name);
    let outcome = run_scenario(&scenario, Clients::Paced);
    assert_eq!(outcome.lost_turns, 0, "{name}: punctual visitors lost turns");
    assert_eq!(
        outcome.overshoot, 0,
        "{name}: admissions exceeded pace or capacity"
    );
    assert_eq!(outcome.out_of_order, 0, "{name}: a visitor was overtaken");
    assert!(
        outcome.held_max <= scenario.held_budget,
        "{name}: {} polls were held",
        outcome.held_max
    );
    let figures = RunFigures::from_outcome(&outcome);
    assert!(
        figures.polls_half_hour.unwrap_or(0.0) <= 60.0,
        "{name}: {figures:?}"
    );
    outcome
}

/// Checks the coverage of the estimates. The aim is 80 % in a usual crowd. See
/// `docs/adr/0012-wait-estimate.md` for how far each of the other scenarios is from that.
fn check_coverage(name: &str, range: Range<f64>) {
    let estimates = run_paced(name).estimates.total();
    assert!(
        estimates.shown > 1_000,
        "{name}: only {} estimates were shown",
        estimates.shown
    );
    assert!(
        range.contains(&estimates.coverage()),
        "{name}: the coverage is {}",
        estimates.coverage()
    );
}

#[test]
fn a_flash_crowd_polls_a_tenth_of_fixed_clients() {
    let outcome = run_paced("flash");
    let (figures, estimates) = (RunFigures::from_outcome(&outcome), outcome.estimates.total());
    assert!(
        (0.60..0.95).contains(&estimates.coverage()),
        "the coverage is {}",
        estimates.coverage()
    );
    assert!(
        estimates.mean_error() < 0.12,
        "the error is {}",
        estimates.mean_error()
    );
    assert!(outcome.held_max > 0 && figures.held_seconds > 1.0, "{figures:?}");
    assert!(
        outcome.no_shows > 100 && outcome.left > 100,
        "too few visitors vanished or left"
    );

    let fixed = run_scenario(&scenario("flash"), Clients::Fixed);
    assert_eq!((fixed.overshoot, fixed.out_of_order, fixed.held_max), (0, 0, 0));
    let fixed_figures = RunFigures::from_outcome(&fixed);
    let paced_polls = figures.polls_half_hour.expect("some visitors wait half an hour");
    let fixed_polls = fixed_figures
        .polls_half_hour
        .expect("some visitors wait half an hour");
    assert!(
        (580.0..=620.0).contains(&fixed_polls),
        "half an hour has 600 polls of a fixed client, not {fixed_polls}"
    );
    assert!(
        paced_polls * 10.0 < fixed_polls,
        "{paced_polls} polls against {fixed_polls}"
    );
}

#[test]
fn estimates_cover_waves() {
    check_coverage("wave", 0.6..0.95);
}

#[test]
fn estimates_cover_a_steady_stream() {
    check_coverage("steady", 0.8..1.0);
}

#[test]
fn estimates_cover_sessions_that_expire_together() {
    check_coverage("sessions", 0.3..0.95);
}

#[test]
fn estimates_cover_impatient_visitors() {
    check_coverage("impatient", 0.6..0.97);
}

#[test]
fn estimates_cover_outages_of_the_promoter() {
    check_coverage("outages", 0.4..0.97);
}

/// Without fallback ticks, all turns would come later by the time that the promoter is down: by minutes, or never.
#[test]
fn the_line_moves_at_its_pace_while_the_promoter_is_down() {
    for clients in [Clients::Paced, Clients::Fixed] {
        let wait = |outcome: &Outcome| RunFigures::from_outcome(outcome).wait_mean_seconds;
        let with_promoter = wait(&run_scenario(&scenario("flash"), clients));
        for name in ["outages", "unattended"] {
            let outcome = run_scenario(&scenario(name), clients);
            let violations = (outcome.lost_turns, outcome.overshoot, outcome.out_of_order);
            assert_eq!(violations, (0, 0, 0), "{name}, {clients:?}");
            let punctual = outcome.is_punctual.iter().filter(|is| **is).count();
            assert!(outcome.served >= punctual as u64, "{name}, {clients:?}");
            let without = wait(&outcome);
            assert!(
                (without / with_promoter - 1.0).abs() < 0.05,
                "{name}, {clients:?}: {without} s against {with_promoter} s"
            );
        }
    }
}

#[test]
fn estimates_cover_a_line_without_a_promoter() {
    check_coverage("unattended", 0.6..0.97);
}

#[test]
fn estimates_cover_changes_by_the_operator() {
    check_coverage("operator", 0.15..0.97);
}

/// The operator raises pace and capacity fivefold, so visitors who were told to poll late get their turn at once.
#[test]
fn raising_the_pace_costs_no_punctual_visitor_a_turn() {
    for seed in 1..=8 {
        let scenario = Scenario::by_name("operator", 4_000, seed).expect("the scenario exists");
        let outcome = run_scenario(&scenario, Clients::Paced);
        let violations = (outcome.lost_turns, outcome.overshoot, outcome.out_of_order);
        assert_eq!(violations, (0, 0, 0), "seed {seed}");
    }
}

#[test]
fn estimates_cover_a_line_that_hardly_moves() {
    check_coverage("quiet", 0.45..0.95);
}

/// No visitor has left yet, so nothing but the settings says how long the wait is. Paced by the pace of such a queue,
/// each visitor would poll every two seconds.
#[test]
fn a_full_queue_polls_less_than_fixed_clients_from_the_start() {
    let outcome = run_paced("full");
    let fixed = |sample: &Sample| sample.waiting * SAMPLE_MS / FIXED_POLL_MS;
    // The first sample is taken as the queue opens.
    let full = || {
        outcome
            .samples
            .iter()
            .skip(1)
            .filter(|sample| sample.waiting > 1_000)
    };
    assert!(full().count() > 100, "the line was not long");
    for sample in full() {
        assert!(
            sample.polls <= fixed(sample),
            "{sample:?}: {} polls of fixed clients",
            fixed(sample)
        );
    }
    let polls: u64 = full().map(|sample| sample.polls).sum();
    let of_fixed: u64 = full().map(fixed).sum();
    assert!(polls * 8 < of_fixed, "{polls} polls, {of_fixed} of fixed clients");
    let estimates = outcome.estimates.total();
    assert_eq!(
        estimates.unknown, 0,
        "each visitor has an estimate from the start"
    );
    assert!(
        estimates.coverage() > 0.8,
        "the coverage is {}",
        estimates.coverage()
    );
}

/// All requests are refused for a minute.
#[test]
fn refusals_cost_no_punctual_visitor_a_turn() {
    for seed in 1..=4 {
        let scenario = Scenario::by_name("refused", 4_000, seed).expect("the scenario exists");
        for clients in [Clients::Paced, Clients::Fixed] {
            let outcome = run_scenario(&scenario, clients);
            let violations = (outcome.overshoot, outcome.out_of_order);
            assert_eq!(violations, (0, 0), "seed {seed}, {clients:?}");
            assert!(
                outcome.refused_visitors > 0,
                "seed {seed}, {clients:?}: no visitor was refused"
            );
            if clients == Clients::Paced {
                assert_eq!(outcome.lost_turns, 0, "seed {seed}");
                assert!(outcome.refused_visitors > 1_000, "seed {seed}");
            }
        }
    }
}

#[test]
fn a_small_budget_of_held_polls_is_kept() {
    let scenario = Scenario {
        held_budget: 20,
        ..scenario("flash")
    };
    let outcome = run_scenario(&scenario, Clients::Paced);
    assert_eq!(outcome.held_max, 20, "the budget is used and not exceeded");
    assert_eq!(outcome.lost_turns, 0);
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let results = |seed| {
        let scenario = Scenario::by_name("operator", 2_000, seed).expect("the scenario exists");
        let outcome = run_scenario(&scenario, Clients::Paced);
        let result = |visitor: &VisitorOutcome| (visitor.polls, visitor.waited_ms);
        outcome.visitors.iter().map(result).collect::<Vec<_>>()
    };
    assert!(results(3) == results(3));
    assert!(results(3) != results(4));
}

#[test]
fn each_name_has_a_scenario() {
    for name in NAMES {
        assert_eq!(scenario(name).name, name);
    }
    assert!(Scenario::by_name("no-such", 100, 1).is_none());
}
