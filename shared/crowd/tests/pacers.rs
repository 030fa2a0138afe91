//! Visitors who do not ask when they are told to.

use vestibule_crowd::{
    act::{Act, Answer},
    door::Caller,
    rules::{Chance, FollowerOptions, Refusal},
    temper::{Conduct, Temper},
    visitor::Visitor,
};
use vestibule_domain::{queue_state::QueueState, state::EntryState};
use vestibule_wire::Entry;

/// A visitor who was told at 0 to ask again after 12 s, and when it does.
fn told_to_wait(conduct: Conduct) -> (Visitor, f64) {
    let temper = Temper {
        conduct,
        client: FollowerOptions {
            reads_documents: false,
            ..FollowerOptions::default()
        },
        ..Temper::honest(0.0)
    };
    let mut visitor = Visitor::new(Caller::anonymous(), temper, Chance::Fixed(0.5), 0.0);
    let entry = Entry {
        position: Some(7),
        retry_after_ms: Some(12_000),
        ..Entry::new(
            "shop:1".to_owned(),
            "token".to_owned(),
            1,
            EntryState::Waiting,
            QueueState::Open,
        )
    };
    visitor.receive(Act::Enter, Ok(Answer::Entry(Box::new(entry))), 0.0);
    let at_ms = visitor.next().expect("the visitor waits").at_ms;
    (visitor, at_ms)
}

#[test]
fn a_pacer_asks_more_often_or_later_than_told() {
    for (conduct, expected_ms) in [
        (Conduct::Honest, 12_000.0),
        (Conduct::Paces { factor: 3.0 }, 4_000.0),
        (Conduct::PollsLate { pause_ms: 90_000.0 }, 90_000.0),
        (Conduct::PollsLate { pause_ms: 1_000.0 }, 12_000.0),
    ] {
        let (_, at_ms) = told_to_wait(conduct);
        assert!((at_ms - expected_ms).abs() < 1.0, "{conduct:?}: {at_ms}");
    }
}

/// Counted from the last answer about the entry, the pause would be over before it began.
#[test]
fn a_pacer_pauses_after_a_failure() {
    for conduct in [
        Conduct::Paces { factor: 3.0 },
        Conduct::PollsLate { pause_ms: 90_000.0 },
    ] {
        let (mut visitor, at_ms) = told_to_wait(conduct);
        for _ in 0..10 {
            let due = visitor.next().expect("the visitor waits");
            visitor.send(due.act, due.at_ms);
            visitor.receive(due.act, Err(Refusal::NO_ANSWER), due.at_ms);
            let next_ms = visitor.next().expect("the visitor waits").at_ms;
            assert!(
                next_ms >= due.at_ms + 1_000.0,
                "{conduct:?}: {next_ms} after {at_ms}"
            );
        }
    }
}
