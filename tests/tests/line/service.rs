//! What the protected service asks of a visit: whether the visitor may act, and for longer.

use vestibule_domain::{
    change::{End, Event},
    standing::Standing,
    state::State,
};
use vestibule_line::{Check, Departure, Extended, Extension, Look, Missing, Validated};
use vestibule_tests::lines::{Subject, visitor};

use crate::visit::{STATES, roomy, standing_there};

pub(crate) async fn validate(subject: &Subject, check: Check) -> Validated {
    let validated = subject.line.validate(&subject.queue, visitor(1), check);
    validated.await.expect("validate")
}

pub(crate) async fn extend(subject: &Subject, extension: Extension) -> Extended {
    let extended = subject.line.extend(&subject.queue, visitor(1), extension);
    extended.await.expect("extend")
}

pub(crate) async fn validating_by_state(mut subject: Subject) {
    subject.open(roomy()).await;
    let look = |visit| Check {
        visit,
        claims: false,
        consumes: false,
        let_in_until_ms: None,
    };
    assert_eq!(
        validate(&subject, look(None)).await,
        Validated::Gone(Missing::Unknown)
    );
    for state in STATES {
        let subject = standing_there(&subject, state).await;
        let (standing, view) = (subject.standing(visitor(1)).await, subject.view().await);
        for visit in [None, Some(standing.visit())] {
            // Consuming takes an active entry, and this check does not make one.
            let checks = if state == State::Active {
                vec![look(visit)]
            } else {
                vec![
                    look(visit),
                    Check {
                        consumes: true,
                        let_in_until_ms: None,
                        ..look(visit)
                    },
                ]
            };
            for check in checks {
                let wanted = if state == State::Active {
                    Validated::Active {
                        standing,
                        change: None,
                    }
                } else {
                    Validated::NotYet(standing)
                };
                assert_eq!(validate(&subject, check).await, wanted, "{state:?} {check:?}");
            }
        }
        assert_eq!(subject.view().await, view, "looking changes nothing");
        subject.leave(visitor(1), Departure::Evict).await;
        assert_eq!(
            validate(&subject, look(None)).await,
            Validated::Gone(Missing::Ended)
        );
    }
}

pub(crate) async fn validating_may_claim_and_consume(mut subject: Subject) {
    subject.open(roomy()).await;
    for (state, claims, consumes) in [
        (State::Waiting, true, true),
        (State::Ready, true, false),
        (State::Ready, true, true),
        (State::Active, true, false),
        (State::Active, false, true),
        (State::Active, true, true),
    ] {
        let case = format!("{state:?}, claims {claims}, consumes {consumes}");
        let subject = standing_there(&subject, state).await;
        let visit = subject.standing(visitor(1)).await.visit();
        let check = Check {
            visit: Some(visit),
            claims,
            consumes,
            let_in_until_ms: None,
        };
        let (standing, change) = match validate(&subject, check).await {
            Validated::NotYet(standing) if state == State::Waiting => {
                assert_eq!(standing, subject.standing(visitor(1)).await);
                continue;
            }
            Validated::Active { standing, change } => (standing, change),
            other => panic!("{case}: {other:?}"),
        };
        let now_ms = subject.clock.now_ms();
        let session_end_ms = now_ms + 300_000;
        let active = Standing::Active {
            visit,
            session_end_ms,
            now_ms,
        };
        assert_eq!(standing, active, "{case}");
        let event = match (state, consumes) {
            (_, true) => Some(Event::Ended {
                visit,
                how: End::Completed,
            }),
            (State::Ready, false) => Some(Event::Claimed {
                visit,
                session_end_ms,
            }),
            _ => None,
        };
        assert_eq!(change.map(|change| change.event), event, "{case}");
        let view = subject.view().await;
        assert_eq!(view.totals.claimed, 1, "{case}");
        assert_eq!(view.totals.completed, u64::from(consumes), "{case}");
        let after = if consumes {
            Look::Gone(Missing::Ended)
        } else {
            Look::Here(active)
        };
        assert_eq!(subject.look(visitor(1)).await, after, "{case}");
        if consumes {
            let again = validate(&subject, check).await;
            assert_eq!(again, Validated::Gone(Missing::Ended), "{case}: good for one use");
        }
    }
}

pub(crate) async fn extending_is_bounded_and_never_shortens(mut subject: Subject) {
    subject.open(roomy()).await;
    let now_ms = subject.clock.now_ms();
    let by = |seconds, latest_end_ms| Extension {
        visit: None,
        seconds,
        latest_end_ms,
    };
    assert_eq!(
        extend(&subject, by(10, u64::MAX / 4096)).await,
        Extended::Gone(Missing::Unknown)
    );
    for state in [State::Waiting, State::Ready] {
        let subject = standing_there(&subject, state).await;
        let standing = subject.standing(visitor(1)).await;
        let extended = extend(&subject, by(10, now_ms + 1_000_000)).await;
        assert_eq!(extended, Extended::NotYet(standing));
    }
    let subject = standing_there(&subject, State::Active).await;
    let visit = subject.standing(visitor(1)).await.visit();
    subject.pass_seconds(100);
    let mut last = None;
    for (seconds, latest_end_ms, ends_after_seconds) in [
        (50, now_ms + 3_600_000, 300), // What it has is longer.
        (500, now_ms + 3_600_000, 600),
        (0, now_ms + 3_600_000, 600),
        (3_000, now_ms + 700_000, 700), // Up to the latest end.
        (3_000, now_ms + 1_000, 700),   // A latest end that has passed takes nothing away.
        (1_000, now_ms + 1_100_000, 1_100),
    ] {
        let case = format!("{seconds} s more, at most until {latest_end_ms}");
        let extension = Extension {
            visit: Some(visit),
            seconds,
            latest_end_ms,
        };
        let Extended::Active { standing, change } = extend(&subject, extension).await else {
            panic!("{case}")
        };
        let session_end_ms = now_ms + ends_after_seconds * 1_000;
        let wanted = Standing::Active {
            visit,
            session_end_ms,
            now_ms: now_ms + 100_000,
        };
        assert_eq!(standing, wanted, "{case}");
        assert_eq!(
            change.event,
            Event::Extended {
                visit,
                session_end_ms
            },
            "{case}"
        );
        assert_eq!(subject.standing(visitor(1)).await, wanted, "{case}");
        assert!(last < Some(change.version), "{case}");
        last = Some(change.version);
    }
    subject.pass_seconds(999);
    assert_eq!(subject.state(visitor(1)).await, State::Active);
    subject.pass_seconds(1);
    let extended = extend(&subject, by(10, now_ms + 3_600_000)).await;
    assert_eq!(extended, Extended::Gone(Missing::Ended), "too late");
}
