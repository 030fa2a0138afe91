//! Claiming and leaving in each state of an entry. A call that names another visit changes nothing.

use vestibule_domain::{
    change::{EndReason, Event},
    entry_status::EntryStatus,
    fact::Fact,
    score::Visit,
    settings::Settings,
    state::EntryState,
};
use vestibule_line::{
    ClaimOutcome, ExtendOutcome, LeaveOutcome, LeaveReason, NotFound, SessionExtension, ValidateOutcome,
    Validation,
};
use vestibule_tests::lines::{Subject, visitor};

use crate::{
    missing::{expect_end, unknown},
    settings::bounded,
    validate_and_extend::{extend, validate},
};

pub(crate) const STATES: [EntryState; 3] = [EntryState::Waiting, EntryState::Ready, EntryState::Active];

pub(crate) fn with_room_for_all() -> Settings {
    bounded(100, 100, 1)
}

/// A new queue in which visitor 1 is in this state.
pub(crate) async fn open_in_state(subject: &Subject, state: EntryState) -> Subject {
    let mut other = subject.open_sibling(with_room_for_all()).await;
    other.line_up([1]).await;
    if state != EntryState::Waiting {
        other.tick().await;
    }
    if state == EntryState::Active {
        other.claim(visitor(1)).await;
    }
    assert_eq!(other.state(visitor(1)).await, state);
    other
}

fn next_visit_number(visit: Visit) -> Visit {
    Visit::new(visit.number() + 1).expect("below 2^49")
}

async fn leave(subject: &Subject, visit: Option<Visit>, reason: LeaveReason) -> LeaveOutcome {
    let outcome = subject.line.leave(&subject.queue, visitor(1), visit, reason);
    outcome.await.expect("leave")
}

pub(crate) async fn a_claim_activates_a_ready_entry_and_is_idempotent(mut subject: Subject) {
    subject.open(with_room_for_all()).await;
    let claim = async |subject: &Subject| {
        subject
            .line
            .claim(&subject.queue, visitor(1))
            .await
            .expect("claim")
    };
    assert_eq!(claim(&subject).await, ClaimOutcome::NotFound(unknown(&subject)));
    subject.line_up([1]).await;
    let waiting = subject.status(visitor(1)).await;
    assert_eq!(
        claim(&subject).await,
        ClaimOutcome::StillWaiting(waiting),
        "a waiting entry cannot be claimed"
    );
    assert_eq!(subject.status(visitor(1)).await, waiting);

    subject.tick().await;
    subject.advance_seconds(59);
    let (first, change) = subject.claim(visitor(1)).await;
    let (visit, session_end_ms) = (waiting.visit(), subject.clock.now_ms() + 300_000);
    let claimed = Event::Claimed {
        visit,
        session_end_ms,
    };
    assert_eq!((change.id, change.event), (visitor(1), claimed));
    assert_eq!(subject.status(visitor(1)).await, first);

    // A repeated claim is harmless and does not prolong the session.
    subject.advance_seconds(100);
    let (_, again) = subject.claim(visitor(1)).await;
    assert_eq!(again.event, claimed);
    assert!(again.version > change.version);
    assert_eq!(
        subject.status(visitor(1)).await,
        EntryStatus::Active {
            visit,
            session_end_ms,
            now_ms: subject.clock.now_ms()
        }
    );
    assert_eq!(subject.view().await.totals.claimed, 1);
    subject.advance_seconds(200);
    let end = expect_end(&subject, 1).await;
    let fact = Fact::active(visit, session_end_ms).timed_out();
    let how = EndReason::Expired;
    assert_eq!(end.event, Event::Ended { fact, how });
    assert_eq!(
        claim(&subject).await,
        ClaimOutcome::NotFound(NotFound::Ended(end))
    );
}

pub(crate) async fn leaving_ends_the_visit_as_its_state_requires(mut subject: Subject) {
    subject.open(with_room_for_all()).await;
    for reason in [LeaveReason::Leave, LeaveReason::Complete, LeaveReason::Evict] {
        assert_eq!(
            leave(&subject, None, reason).await,
            LeaveOutcome::NotFound(unknown(&subject))
        );
        for state in STATES {
            let case = format!("{reason:?} while {state:?}");
            let subject = open_in_state(&subject, state).await;
            let before = subject.status(visitor(1)).await;
            let visit = before.visit();
            let outcome = leave(&subject, Some(visit), reason).await;
            let how = match (reason, state) {
                (LeaveReason::Complete, EntryState::Waiting | EntryState::Ready) => {
                    assert_eq!(outcome, LeaveOutcome::NotActive(before), "{case}");
                    assert_eq!(subject.status(visitor(1)).await, before, "{case}");
                    continue;
                }
                (LeaveReason::Complete, EntryState::Active) => EndReason::Completed,
                (LeaveReason::Evict, _) => EndReason::Evicted,
                _ => EndReason::Left,
            };
            let LeaveOutcome::Ended(change) = outcome else {
                panic!("{case}: {outcome:?}")
            };
            let is_held = state == EntryState::Active && how != EndReason::Completed;
            let fact = match before {
                EntryStatus::Active { session_end_ms, .. } if is_held => Fact::held(visit, session_end_ms),
                _ => Fact::ended(visit),
            };
            let event = Event::Ended { fact, how };
            assert_eq!((change.id, change.event), (visitor(1), event), "{case}");
            let view = subject.view().await;
            assert_eq!(
                (view.waiting, view.ready, view.active, view.unsettled_ends),
                (0, 0, 0, 1),
                "{case}"
            );
            assert_eq!(view.held, u64::from(is_held), "{case}");
            let totals = view.totals;
            let counted = [EndReason::Completed, EndReason::Left, EndReason::Evicted]
                .map(|counted| u64::from(how == counted));
            assert_eq!([totals.completed, totals.left, totals.evicted], counted, "{case}");
            // An ended visit cannot end again.
            assert_eq!(
                leave(&subject, Some(visit), reason).await,
                LeaveOutcome::NotFound(NotFound::Ended(change)),
                "{case}"
            );
        }
    }
}

pub(crate) async fn a_call_that_names_another_visit_changes_nothing(mut subject: Subject) {
    subject.open(with_room_for_all()).await;
    for state in STATES {
        let subject = open_in_state(&subject, state).await;
        let (before, view) = (subject.status(visitor(1)).await, subject.view().await);
        let visit = Some(next_visit_number(before.visit()));
        for reason in [LeaveReason::Leave, LeaveReason::Complete, LeaveReason::Evict] {
            assert_eq!(
                leave(&subject, visit, reason).await,
                LeaveOutcome::OtherVisit,
                "{state:?}"
            );
        }
        let check = Validation {
            visit,
            claims: true,
            consumes: true,
            use_id: None,
            reactivate_until_ms: None,
        };
        assert_eq!(
            validate(&subject, check).await,
            ValidateOutcome::OtherVisit,
            "{state:?}"
        );
        let extension = SessionExtension {
            visit,
            seconds: 1_000,
            latest_end_ms: u64::from(u32::MAX) * 1_000,
        };
        assert_eq!(
            extend(&subject, extension).await,
            ExtendOutcome::OtherVisit,
            "{state:?}"
        );
        assert_eq!(
            (subject.status(visitor(1)).await, subject.view().await),
            (before, view)
        );
    }
    // A late retry for the last visit does not end the next one, however soon or late that one began.
    for after_ms in [0, 1, 16, 160, 1_000, 4_000, 10_000] {
        let subject = open_in_state(&subject, EntryState::Active).await;
        let last = subject.status(visitor(1)).await.visit();
        subject.leave(visitor(1), LeaveReason::Complete).await;
        subject.advance_ms(after_ms);
        let next = subject.enter(visitor(1)).await.status;
        assert_eq!(
            leave(&subject, Some(last), LeaveReason::Leave).await,
            LeaveOutcome::OtherVisit,
            "{after_ms} ms later"
        );
        assert_eq!(subject.status(visitor(1)).await, next, "{after_ms} ms later");
    }
}
