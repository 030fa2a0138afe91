use super::*;
use crate::{
    fact::{Step, Turn},
    score::ERA_MS,
};

const GRACE_SECONDS: u32 = 600;
const JOINED_MS: u64 = ERA_MS + 1_000_000;

fn place(ms: u64) -> WaitScore {
    WaitScore::next(0, ms)
}

/// One visit's facts in rising order, with a name each.
fn facts(visit: Visit) -> Vec<(&'static str, Fact)> {
    let (claim_by_ms, session_end_ms) = (JOINED_MS + 60_000, JOINED_MS + 300_000);
    vec![
        ("waiting", Fact::waiting(visit, Turn::First)),
        ("ready", Fact::ready(visit, Turn::First, claim_by_ms)),
        ("missed", Fact::ready(visit, Turn::First, claim_by_ms).timed_out()),
        ("again", Fact::waiting(visit, Turn::Second)),
        ("ready again", Fact::ready(visit, Turn::Second, claim_by_ms)),
        (
            "missed again",
            Fact::ready(visit, Turn::Second, claim_by_ms).timed_out(),
        ),
        ("active", Fact::active(visit, session_end_ms)),
        ("expired", Fact::active(visit, session_end_ms).timed_out()),
        (
            "held",
            Fact {
                step: Step::Held,
                ..Fact::active(visit, session_end_ms)
            },
        ),
        ("ended", Fact::ended(visit)),
    ]
}

#[test]
fn a_provisional_place_yields_to_a_visit_that_goes_on() {
    let old = place(JOINED_MS).visit();
    let again = place(JOINED_MS + 120_000);
    for (name, fact) in facts(old) {
        let wanted = match name {
            "missed" => Provisional::ComesBack(Fact::waiting(old, Turn::Second)),
            "missed again" | "expired" | "held" | "ended" => Provisional::Stands,
            _ => Provisional::Continues(fact),
        };
        assert_eq!(
            resolve_provisional(again, None, Some(fact), GRACE_SECONDS),
            wanted,
            "{name}"
        );
        // The line knows that the old visit is over.
        assert_eq!(
            resolve_provisional(again, Some(old), Some(fact), GRACE_SECONDS),
            Provisional::Stands,
            "{name}"
        );
    }
    assert_eq!(
        resolve_provisional(again, None, None, GRACE_SECONDS),
        Provisional::Stands
    );
}

#[test]
fn a_missed_turn_comes_back_only_within_the_grace() {
    let old = place(JOINED_MS).visit();
    let missed = Fact::ready(old, Turn::First, JOINED_MS + 60_000).timed_out();
    let until_ms = JOINED_MS + 60_000 + u64::from(GRACE_SECONDS) * 1_000;
    let at = |ms, grace_seconds| resolve_provisional(place(ms), None, Some(missed), grace_seconds);
    assert!(matches!(at(until_ms, GRACE_SECONDS), Provisional::ComesBack(_)));
    assert_eq!(at(until_ms + 1, GRACE_SECONDS), Provisional::Stands);
    assert_eq!(at(JOINED_MS + 61_000, 0), Provisional::Stands);
}

#[test]
fn a_provisional_place_below_a_known_visit_is_outdated() {
    let known = Fact::ended(place(JOINED_MS + 1).visit());
    let resolve = |known| resolve_provisional(place(JOINED_MS), None, Some(known), GRACE_SECONDS);
    assert_eq!(resolve(known), Provisional::Outdated(known));
    let live = Fact::waiting(known.visit, Turn::First);
    assert_eq!(resolve(live), Provisional::Compared);
}

#[test]
fn facts_of_the_provisional_visit_itself_are_compared() {
    for (name, fact) in facts(place(JOINED_MS).visit()) {
        assert_eq!(
            resolve_provisional(place(JOINED_MS), None, Some(fact), GRACE_SECONDS),
            Provisional::Compared,
            "{name}"
        );
    }
}
