//! A line over several hash slots, as a design: what it promises, and what it costs in exactness.

use vestibule_simulate::several_slots::{
    PartsScenario,
    figures::{PartsFigures, holds_promises},
    outcome::PartsOutcome,
    run::run,
};

const VISITORS: u32 = 5_000;

fn scenario(parts: u32) -> PartsScenario {
    PartsScenario {
        parts,
        visitors: VISITORS,
        seed: 5,
        skew_ms: 50,
        delay_ms_max: 200,
        lost_percent: 0,
        dead_ms: None,
    }
}

fn outcome(scenario: &PartsScenario) -> PartsOutcome {
    let outcome = run(scenario);
    assert!(outcome.turns > u64::from(VISITORS) * 9 / 10, "{outcome:?}");
    assert_eq!(outcome.over_capacity, 0, "{outcome:?}");
    assert!(holds_promises(scenario, &outcome), "{scenario:?} {outcome:?}");
    outcome
}

#[test]
fn one_part_is_exact_whatever_its_clock() {
    let single = outcome(&scenario(1));
    assert_eq!((single.overtaken, single.overtaken_us_max), (0, 0));
    assert_eq!(single.position_error_max, 0, "{single:?}");
}

#[test]
fn visitors_are_overtaken_by_no_more_than_clocks_differ() {
    let several = outcome(&scenario(8));
    assert!(several.overtaken > 0, "clocks differ: {several:?}");
    assert!(several.overtaken_us_max <= 101_000, "{several:?}");
    let same_clock = PartsScenario {
        skew_ms: 0,
        ..scenario(8)
    };
    let exact = outcome(&same_clock);
    assert!(
        exact.overtaken_us_max <= 1_000,
        "equal clocks differ by no more than a millisecond: {exact:?}"
    );
}

#[test]
fn late_and_lost_messages_never_exceed_the_capacity() {
    let lossy = PartsScenario {
        delay_ms_max: 900,
        lost_percent: 30,
        ..scenario(4)
    };
    let outcome = outcome(&lossy);
    assert!(
        outcome.taken_share > 0.8,
        "slots stay empty for a while: {outcome:?}"
    );
}

#[test]
fn a_dead_part_holds_no_other_part_up() {
    let alive = outcome(&scenario(4));
    let dead = outcome(&PartsScenario {
        dead_ms: Some(300_000..360_000),
        ..scenario(4)
    });
    assert!(
        dead.overtaken_of_dead > 0 && dead.overtaken_of_dead_us_max < 200_000_000,
        "{dead:?}"
    );
    assert!(
        dead.ended_at_ms < alive.ended_at_ms * 11 / 10,
        "{dead:?} {alive:?}"
    );
}

/// The page has the table of `VISITORS=20000 SCENARIO=several-slots infra/simulate.sh`.
#[test]
fn every_number_of_parts_holds_the_promises_of_the_page() {
    let figures = PartsFigures::run(20_000, 1);
    let table = figures.format();
    assert!(figures.holds_promises(), "{table}");
    let page = include_str!("../../../docs/several-slots.md");
    assert!(
        page.contains(&table),
        "docs/several-slots.md lacks this table:\n{table}"
    );
}
