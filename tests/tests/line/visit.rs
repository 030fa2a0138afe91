//! What a visitor does to a visit in each state: claims it, ends it. A late call is of another one.

use vestibule_domain::{
    change::{EndReason, Event},
    entry_status::EntryStatus,
    score::Visit,
    settings::Settings,
    state::EntryState,
};
use vestibule_line::{
    ClaimOutcome, ExtendOutcome, LeaveOutcome, LeaveReason, NotFound, SessionExtension, ValidateOutcome,
    Validation,
};
use vestibule_tests::lines::{Subject, visitor};

use crate::service::{extend, validate};

pub(crate) const STATES: [EntryState; 3] = [EntryState::Waiting, EntryState::Ready, EntryState::Active];

pub(crate) fn roomy() -> Settings {
    Settings {
        capacity: 100,
        batch: 100,
        interval_seconds: 1,
        ..Settings::default()
    }
}

/// A queue of its own in which visitor 1 is in this state.
pub(crate) async fn standing_there(subject: &Subject, state: EntryState) -> Subject {
    let mut other = subject.open_sibling(roomy()).await;
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

fn another_than(visit: Visit) -> Visit {
    Visit::new((u64::from(visit.number()) + 1) % 4096).expect("below 4096")
}

async fn depart(subject: &Subject, visit: Option<Visit>, departure: LeaveReason) -> LeaveOutcome {
    let departed = subject.line.leave(&subject.queue, visitor(1), visit, departure);
    departed.await.expect("leave")
}

pub(crate) async fn claiming(mut subject: Subject) {
    subject.open(roomy()).await;
    let claim = async |subject: &Subject| {
        subject
            .line
            .claim(&subject.queue, visitor(1))
            .await
            .expect("claim")
    };
    assert_eq!(claim(&subject).await, ClaimOutcome::NotFound(NotFound::Unknown));
    subject.line_up([1]).await;
    let waiting = subject.status(visitor(1)).await;
    assert_eq!(
        claim(&subject).await,
        ClaimOutcome::StillWaiting(waiting),
        "before its turn"
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

    // Again is harmless: the session is no longer for it.
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
    assert_eq!(
        claim(&subject).await,
        ClaimOutcome::NotFound(NotFound::RecentlyEnded)
    );
}

pub(crate) async fn departures_by_state(mut subject: Subject) {
    subject.open(roomy()).await;
    for departure in [LeaveReason::Leave, LeaveReason::Complete, LeaveReason::Evict] {
        assert_eq!(
            depart(&subject, None, departure).await,
            LeaveOutcome::NotFound(NotFound::Unknown)
        );
        for state in STATES {
            let case = format!("{departure:?} while {state:?}");
            let subject = standing_there(&subject, state).await;
            let before = subject.status(visitor(1)).await;
            let visit = before.visit();
            let departed = depart(&subject, Some(visit), departure).await;
            let how = match (departure, state) {
                (LeaveReason::Complete, EntryState::Waiting | EntryState::Ready) => {
                    assert_eq!(departed, LeaveOutcome::NotActive(before), "{case}");
                    assert_eq!(subject.status(visitor(1)).await, before, "{case}");
                    continue;
                }
                (LeaveReason::Leave | LeaveReason::Complete, EntryState::Active) => EndReason::Completed,
                _ => EndReason::Left,
            };
            let LeaveOutcome::Ended(change) = departed else {
                panic!("{case}: {departed:?}")
            };
            assert_eq!(
                (change.id, change.event),
                (visitor(1), Event::Ended { visit, how }),
                "{case}"
            );
            let view = subject.view().await;
            assert_eq!(
                (view.waiting, view.ready, view.active, view.unsettled_ends),
                (0, 0, 0, 1),
                "{case}"
            );
            let counted = u64::from(how == EndReason::Completed);
            assert_eq!(
                (view.totals.completed, view.totals.left),
                (counted, 1 - counted),
                "{case}"
            );
            // After the end there is nothing to end.
            assert_eq!(
                depart(&subject, None, departure).await,
                LeaveOutcome::NotFound(NotFound::RecentlyEnded),
                "{case}"
            );
            subject.acknowledge_journal(&[visitor(1)]).await;
            assert_eq!(
                depart(&subject, Some(visit), departure).await,
                LeaveOutcome::NotFound(NotFound::Unknown),
                "{case}"
            );
        }
    }
}

pub(crate) async fn naming_another_visit_changes_nothing(mut subject: Subject) {
    subject.open(roomy()).await;
    for state in STATES {
        let subject = standing_there(&subject, state).await;
        let (before, view) = (subject.status(visitor(1)).await, subject.view().await);
        let visit = Some(another_than(before.visit()));
        for departure in [LeaveReason::Leave, LeaveReason::Complete, LeaveReason::Evict] {
            assert_eq!(
                depart(&subject, visit, departure).await,
                LeaveOutcome::OtherVisit,
                "{state:?}"
            );
        }
        let check = Validation {
            visit,
            claims: true,
            consumes: true,
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
    // A late retry of the last visit does not end the next one, however soon or late that came.
    for after_ms in [0, 1, 16, 160, 1_000, 4_000, 10_000] {
        let subject = standing_there(&subject, EntryState::Active).await;
        let last = subject.status(visitor(1)).await.visit();
        subject.leave(visitor(1), LeaveReason::Complete).await;
        subject.advance_ms(after_ms);
        let next = subject.enter(visitor(1)).await.status;
        assert_eq!(
            depart(&subject, Some(last), LeaveReason::Leave).await,
            LeaveOutcome::OtherVisit,
            "{after_ms} ms later"
        );
        assert_eq!(subject.status(visitor(1)).await, next, "{after_ms} ms later");
    }
}
