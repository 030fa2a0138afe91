//! Every scenario, with a small crowd: what was promised to the protected service and to those who wait.

use vestibule_simulate::{
    figures::Figures,
    outcome::Outcome,
    scenario::{NAMES, Scenario},
    world::{Clients, run},
};

const VISITORS: u32 = 20_000;
const SEED: u64 = 11;

fn scenario(name: &str) -> Scenario {
    Scenario::named(name, VISITORS, SEED).expect("one of the names")
}

/// What holds in every one of them.
fn paced(name: &str) -> Outcome {
    let scenario = scenario(name);
    let outcome = run(&scenario, Clients::Paced);
    assert_eq!(outcome.lost_turns, 0, "{name}: of those who keep the pace");
    assert_eq!(outcome.overshoot, 0, "{name}: above pace and capacity");
    assert!(
        outcome.held_max <= scenario.held_budget,
        "{name}: {} held",
        outcome.held_max
    );
    let figures = Figures::of(&outcome);
    assert!(
        figures.polls_half_hour.unwrap_or(0.0) <= 60.0,
        "{name}: {figures:?}"
    );
    outcome
}

/// The coverage is aimed at 80 % of all that is shown in a usual crowd; see docs/decisions/estimate.md for how far each of
/// the others is from that.
fn covers(name: &str, band: std::ops::Range<f64>) {
    let told = paced(name).told.all();
    assert!(told.shown > 1_000, "{name}: people are told something");
    assert!(band.contains(&told.coverage()), "{name}: {}", told.coverage());
}

#[test]
fn a_flash_crowd() {
    let outcome = paced("flash");
    let (figures, told) = (Figures::of(&outcome), outcome.told.all());
    assert!((0.60..0.95).contains(&told.coverage()), "{}", told.coverage());
    assert!(told.mean_error() < 0.12, "{}", told.mean_error());
    assert!(outcome.held_max > 0 && figures.held_seconds > 1.0, "{figures:?}");
    assert!(
        outcome.no_shows > 100 && outcome.left > 100,
        "some vanish, and some leave"
    );

    let fixed = run(&scenario("flash"), Clients::Fixed);
    assert_eq!((fixed.overshoot, fixed.held_max), (0, 0));
    let by_fixed = Figures::of(&fixed);
    let (paced, fixed) = (figures.polls_half_hour, by_fixed.polls_half_hour);
    let (paced, fixed) = (
        paced.expect("some wait so long"),
        fixed.expect("some wait so long"),
    );
    assert!(
        (580.0..=620.0).contains(&fixed),
        "half an hour, each three seconds: {fixed}"
    );
    assert!(paced * 10.0 < fixed, "{paced} against {fixed}");
}

#[test]
fn waves() {
    covers("wave", 0.6..0.95);
}

#[test]
fn a_steady_stream() {
    covers("steady", 0.8..1.0);
}

#[test]
fn sessions_that_all_end_at_once() {
    covers("sessions", 0.3..0.95);
}

#[test]
fn the_impatient_and_those_who_leave() {
    covers("impatient", 0.6..0.97);
}

#[test]
fn a_promoter_that_is_away_now_and_then() {
    covers("outages", 0.4..0.97);
}

/// Without a tick, all turns would come later by as long as the promoter is away: by minutes, or never.
#[test]
fn the_line_goes_on_while_its_promoter_is_away() {
    for clients in [Clients::Paced, Clients::Fixed] {
        let wait = |outcome: &Outcome| Figures::of(outcome).wait_mean_seconds;
        let by_promoter = wait(&run(&scenario("flash"), clients));
        for name in ["outages", "unattended"] {
            let outcome = run(&scenario(name), clients);
            let (lost, over) = (outcome.lost_turns, outcome.overshoot);
            assert_eq!((lost, over), (0, 0), "{name}, {clients:?}");
            let keepers = outcome.keepers.iter().filter(|keeps| **keeps).count();
            assert!(outcome.served >= keepers as u64, "{name}, {clients:?}");
            let by_calls = wait(&outcome);
            assert!(
                (by_calls / by_promoter - 1.0).abs() < 0.05,
                "{name}, {clients:?}: {by_calls} s against {by_promoter} s"
            );
        }
    }
}

#[test]
fn nobody_at_all_but_those_who_call() {
    covers("unattended", 0.6..0.97);
}

#[test]
fn an_operator_who_turns_everything() {
    covers("operator", 0.15..0.97);
}

/// Whoever was told to come back late may be called at once.
#[test]
fn a_gate_that_is_thrown_open_costs_nobody_a_turn() {
    for seed in 1..=8 {
        let scenario = Scenario::named("operator", 4_000, seed).expect("one of the names");
        let outcome = run(&scenario, Clients::Paced);
        assert_eq!((outcome.lost_turns, outcome.overshoot), (0, 0), "seed {seed}");
    }
}

#[test]
fn a_line_that_hardly_moves() {
    covers("quiet", 0.45..0.95);
}

#[test]
fn the_budget_is_kept_where_it_is_short() {
    let scenario = Scenario {
        held_budget: 20,
        ..scenario("flash")
    };
    let outcome = run(&scenario, Clients::Paced);
    assert_eq!(outcome.held_max, 20, "all of it, and no more");
    assert_eq!(outcome.lost_turns, 0);
}

#[test]
fn the_same_seed_is_the_same_course() {
    let fates = |seed| {
        let scenario = Scenario::named("operator", 2_000, seed).expect("one of the names");
        let outcome = run(&scenario, Clients::Paced);
        let fate = |fate: &vestibule_simulate::outcome::Fate| (fate.polls, fate.waited_ms);
        outcome.fates.iter().map(fate).collect::<Vec<_>>()
    };
    assert!(fates(3) == fates(3));
    assert!(fates(3) != fates(4));
}

#[test]
fn every_scenario_is_there() {
    for name in NAMES {
        assert_eq!(scenario(name).name, name);
    }
    assert!(Scenario::named("no-such", 100, 1).is_none());
}
