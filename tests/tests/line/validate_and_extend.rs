//! The calls of the protected service: whether a visitor may act, and longer sessions.

use vestibule_domain::{
    change::{EndReason, Event},
    entry_status::EntryStatus,
    fact::Fact,
    state::EntryState,
};
use vestibule_line::{
    EntryLookup, ExtendOutcome, LeaveReason, NotFound, SessionExtension, ValidateOutcome, Validation,
};
use vestibule_tests::lines::{Subject, visitor};

use crate::{
    claim_and_leave::{STATES, open_in_state, with_room_for_all},
    missing::{expect_end, unknown},
};

pub(crate) async fn validate(subject: &Subject, check: Validation) -> ValidateOutcome {
    let validated = subject.line.validate(&subject.queue, visitor(1), check);
    validated.await.expect("validate")
}

pub(crate) async fn extend(subject: &Subject, extension: SessionExtension) -> ExtendOutcome {
    let extended = subject.line.extend(&subject.queue, visitor(1), extension);
    extended.await.expect("extend")
}

pub(crate) async fn validating_accepts_active_entries_only(mut subject: Subject) {
    subject.open(with_room_for_all()).await;
    let check_only = |visit| Validation {
        visit,
        claims: false,
        consumes: false,
        use_id: None,
        reactivate_until_ms: None,
    };
    assert_eq!(
        validate(&subject, check_only(None)).await,
        ValidateOutcome::NotFound(unknown(&subject))
    );
    for state in STATES {
        let subject = open_in_state(&subject, state).await;
        let (status, view) = (subject.status(visitor(1)).await, subject.view().await);
        for visit in [None, Some(status.visit())] {
            // Consuming needs an active entry, and this check does not activate one.
            let checks = if state == EntryState::Active {
                vec![check_only(visit)]
            } else {
                vec![
                    check_only(visit),
                    Validation {
                        consumes: true,
                        use_id: None,
                        reactivate_until_ms: None,
                        ..check_only(visit)
                    },
                ]
            };
            for check in checks {
                let wanted = if state == EntryState::Active {
                    ValidateOutcome::Active { status, change: None }
                } else {
                    ValidateOutcome::NotActive(status)
                };
                assert_eq!(validate(&subject, check).await, wanted, "{state:?} {check:?}");
            }
        }
        assert_eq!(
            subject.view().await,
            view,
            "a check without claim changes nothing"
        );
        let evicted = subject.leave(visitor(1), LeaveReason::Evict).await;
        assert_eq!(
            validate(&subject, check_only(None)).await,
            ValidateOutcome::NotFound(NotFound::Ended(evicted))
        );
    }
}

pub(crate) async fn validating_may_claim_and_consume(mut subject: Subject) {
    subject.open(with_room_for_all()).await;
    for (state, claims, consumes) in [
        (EntryState::Waiting, true, true),
        (EntryState::Ready, true, false),
        (EntryState::Ready, true, true),
        (EntryState::Active, true, false),
        (EntryState::Active, false, true),
        (EntryState::Active, true, true),
    ] {
        let case = format!("{state:?}, claims {claims}, consumes {consumes}");
        let subject = open_in_state(&subject, state).await;
        let visit = subject.status(visitor(1)).await.visit();
        let check = Validation {
            visit: Some(visit),
            claims,
            consumes,
            use_id: None,
            reactivate_until_ms: None,
        };
        let (status, change) = match validate(&subject, check).await {
            ValidateOutcome::NotActive(status) if state == EntryState::Waiting => {
                assert_eq!(status, subject.status(visitor(1)).await);
                continue;
            }
            ValidateOutcome::Active { status, change } => (status, change),
            other => panic!("{case}: {other:?}"),
        };
        let now_ms = subject.clock.now_ms();
        let session_end_ms = now_ms + 300_000;
        let active = EntryStatus::Active {
            visit,
            session_end_ms,
            now_ms,
        };
        assert_eq!(status, active, "{case}");
        let event = match (state, consumes) {
            (_, true) => Some(Event::Ended {
                fact: Fact::ended(visit),
                how: EndReason::Completed,
            }),
            (EntryState::Ready, false) => Some(Event::Claimed {
                visit,
                session_end_ms,
            }),
            _ => None,
        };
        assert_eq!(change.map(|change| change.event), event, "{case}");
        let view = subject.view().await;
        assert_eq!(view.totals.claimed, 1, "{case}");
        assert_eq!(view.totals.completed, u64::from(consumes), "{case}");
        let ended = change.filter(|_| consumes).map(NotFound::Ended);
        let after = ended.map_or(EntryLookup::Found(active), EntryLookup::NotFound);
        assert_eq!(subject.lookup(visitor(1)).await, after, "{case}");
        if let Some(ended) = ended {
            let again = validate(&subject, check).await;
            assert_eq!(
                again,
                ValidateOutcome::NotFound(ended),
                "{case}: an entry can be consumed once"
            );
        }
    }
}

pub(crate) async fn an_extension_is_bounded_and_never_shortens(mut subject: Subject) {
    subject.open(with_room_for_all()).await;
    let now_ms = subject.clock.now_ms();
    let by = |seconds, latest_end_ms| SessionExtension {
        visit: None,
        seconds,
        latest_end_ms,
    };
    assert_eq!(
        extend(&subject, by(10, u64::MAX / 4096)).await,
        ExtendOutcome::NotFound(unknown(&subject))
    );
    for state in [EntryState::Waiting, EntryState::Ready] {
        let subject = open_in_state(&subject, state).await;
        let status = subject.status(visitor(1)).await;
        let extended = extend(&subject, by(10, now_ms + 1_000_000)).await;
        assert_eq!(extended, ExtendOutcome::NotActive(status));
    }
    let subject = open_in_state(&subject, EntryState::Active).await;
    let visit = subject.status(visitor(1)).await.visit();
    subject.advance_seconds(100);
    let mut last = None;
    for (seconds, latest_end_ms, ends_after_seconds) in [
        (50, now_ms + 3_600_000, 300), // The session already ends later.
        (500, now_ms + 3_600_000, 600),
        (0, now_ms + 3_600_000, 600),
        (3_000, now_ms + 700_000, 700), // The latest end limits the extension.
        (3_000, now_ms + 1_000, 700),   // A latest end in the past does not shorten the session.
        (1_000, now_ms + 1_100_000, 1_100),
    ] {
        let case = format!("{seconds} s more, at most until {latest_end_ms}");
        let extension = SessionExtension {
            visit: Some(visit),
            seconds,
            latest_end_ms,
        };
        let ExtendOutcome::Active { status, change } = extend(&subject, extension).await else {
            panic!("{case}")
        };
        let session_end_ms = now_ms + ends_after_seconds * 1_000;
        let wanted = EntryStatus::Active {
            visit,
            session_end_ms,
            now_ms: now_ms + 100_000,
        };
        assert_eq!(status, wanted, "{case}");
        assert_eq!(
            change.event,
            Event::Extended {
                visit,
                session_end_ms
            },
            "{case}"
        );
        assert_eq!(subject.status(visitor(1)).await, wanted, "{case}");
        assert!(last < Some(change.version), "{case}");
        last = Some(change.version);
    }
    subject.advance_seconds(999);
    assert_eq!(subject.state(visitor(1)).await, EntryState::Active);
    subject.advance_seconds(1);
    let extended = extend(&subject, by(10, now_ms + 3_600_000)).await;
    let end = expect_end(&subject, 1).await;
    assert_eq!(
        extended,
        ExtendOutcome::NotFound(NotFound::Ended(end)),
        "an expired session cannot be extended"
    );
}
