use proptest::prelude::*;

use super::*;

fn visit(number: u64) -> Visit {
    Visit::new(number).expect("a valid visit number")
}

/// Facts of few visits, steps and times, so that equal parts are common.
fn any_fact() -> impl Strategy<Value = Fact> {
    (0..3_u64, 0..7_u64, 0..3_u64, any::<bool>()).prop_map(|(number, step, step_ms, is_over)| Fact {
        visit: visit(number),
        step: Step::new(step).expect("a valid step"),
        step_ms,
        is_over,
    })
}

/// Every legal transition out of a fact, with times that do not go back.
fn next_facts(fact: Fact, later_ms: u64) -> Vec<Fact> {
    let (visit, until_ms) = (fact.visit, fact.step_ms + later_ms);
    let mut next = Vec::new();
    if fact.is_live() {
        next.push(Fact::ended(visit));
        next.push(Fact {
            step: Step::Held,
            step_ms: until_ms,
            ..fact
        });
    }
    match (fact.step, fact.is_over) {
        (Step::Waiting | Step::WaitingAgain, false) => {
            let turn = fact.turn().expect("a waiting entry waits for a turn");
            next.push(Fact::ready(visit, turn, until_ms));
            next.push(fact.timed_out());
            next.push(Fact {
                step_ms: fact.step_ms + later_ms + 1,
                ..fact
            });
        }
        (Step::Ready | Step::ReadyAgain, false) => {
            let turn = fact.turn().expect("a ready entry has a turn");
            next.push(Fact::active(visit, until_ms));
            next.push(fact.timed_out());
            next.push(Fact::ready(visit, turn, until_ms + 1));
        }
        (Step::Ready, true) => next.push(Fact::waiting(visit, Turn::Second)),
        (Step::Active, false) => {
            next.push(fact.timed_out());
            next.push(Fact::active(visit, until_ms + 1));
        }
        (Step::Held, false) => next.extend([fact.timed_out(), Fact::ended(visit)]),
        _ => {}
    }
    if !fact.is_live() {
        let later = Visit::new(visit.number() + 1 + later_ms).expect("a valid visit number");
        next.push(Fact::waiting(later, Turn::First));
        next.push(Fact::active(later, until_ms));
    }
    next
}

proptest! {
    #[test]
    fn the_order_of_facts_is_total(a in any_fact(), b in any_fact(), c in any_fact()) {
        prop_assert_eq!(a.cmp(&b), b.cmp(&a).reverse());
        prop_assert_eq!(a == b, a.cmp(&b).is_eq());
        prop_assert!(!(a <= b && b <= c) || a <= c);
        let parts = |fact: Fact| (fact.visit, fact.step.number(), fact.step_ms, u8::from(fact.is_over));
        prop_assert_eq!(a.cmp(&b), parts(a).cmp(&parts(b)));
    }

    #[test]
    fn every_legal_transition_raises_the_fact(path in prop::collection::vec((any::<prop::sample::Index>(), 0..5_u64), 1..20)) {
        let mut fact = Fact::waiting(visit(1), Turn::First);
        for (choice, later_ms) in path {
            let next = next_facts(fact, later_ms);
            if next.is_empty() {
                break;
            }
            let taken = next[choice.index(next.len())];
            prop_assert!(taken > fact, "{:?} follows {:?}", taken, fact);
            fact = taken;
        }
    }
}

#[test]
fn a_claim_beats_a_no_show_that_a_line_made_up() {
    let ready = Fact::ready(visit(1), Turn::First, 5_000);
    assert!(Fact::active(visit(1), 1) > ready.timed_out());
}

#[test]
fn a_longer_session_beats_the_end_of_a_shorter_one() {
    assert!(Fact::active(visit(1), 6_000) > Fact::active(visit(1), 5_000).timed_out());
}

#[test]
fn the_first_end_of_a_visit_stands() {
    let ended = Fact::ended(visit(1));
    for other in [
        Fact::waiting(visit(1), Turn::Second),
        Fact::active(visit(1), u64::MAX).timed_out(),
        ended,
    ] {
        assert!(other <= ended, "{other:?}");
    }
}

#[test]
fn only_the_first_missed_turn_has_a_grace() {
    let first = Fact::ready(visit(1), Turn::First, 5_000);
    assert_eq!(first.timed_out().grace_until_ms(600), Some(605_000));
    assert_eq!(first.timed_out().grace_until_ms(0), None);
    assert!(first.timed_out().is_missed_turn() && !first.is_missed_turn());
    let second = Fact::ready(visit(1), Turn::Second, 5_000).timed_out();
    assert_eq!(
        (second.is_missed_turn(), second.grace_until_ms(600)),
        (false, None)
    );
}

#[test]
fn numbers_of_steps_and_turns_survive_storage() {
    for number in 0..7 {
        assert_eq!(Step::new(number).map(Step::number), Some(number));
    }
    assert_eq!(Step::new(7), None);
    for turn in [Turn::First, Turn::Second] {
        assert_eq!(Turn::new(turn.number()), Some(turn));
    }
    assert_eq!((Turn::new(0), Turn::new(3)), (None, None));
}
