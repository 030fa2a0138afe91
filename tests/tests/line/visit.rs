//! What can be done to a visit in each state: claim, end, check, make longer.

use vestibule::{
    domain::{
        change::{End, Event},
        score::Visit,
        settings::Settings,
        standing::Standing,
        state::State,
    },
    line::{Check, Claimed, Departed, Departure, Extended, Extension, Look, Missing, Validated},
};
use vestibule_tests::lines::{Subject, visitor};

const STATES: [State; 3] = [State::Waiting, State::Ready, State::Active];

fn roomy() -> Settings {
    Settings {
        capacity: 100,
        batch: 100,
        interval_seconds: 1,
        ..Settings::default()
    }
}

/// A queue of its own in which visitor 1 is in this state.
async fn standing_there(subject: &Subject, state: State) -> Subject {
    let mut other = subject.another(roomy()).await;
    other.line_up([1]).await;
    if state != State::Waiting {
        other.tick().await;
    }
    if state == State::Active {
        other.claim(visitor(1)).await;
    }
    assert_eq!(other.state(visitor(1)).await, state);
    other
}

fn another_than(visit: Visit) -> Visit {
    Visit::new((u64::from(visit.number()) + 1) % 4096).expect("below 4096")
}

async fn depart(subject: &Subject, visit: Option<Visit>, departure: Departure) -> Departed {
    let departed = subject.line.leave(&subject.queue, visitor(1), visit, departure);
    departed.await.expect("leave")
}

async fn validate(subject: &Subject, check: Check) -> Validated {
    let validated = subject.line.validate(&subject.queue, visitor(1), check);
    validated.await.expect("validate")
}

async fn extend(subject: &Subject, extension: Extension) -> Extended {
    let extended = subject.line.extend(&subject.queue, visitor(1), extension);
    extended.await.expect("extend")
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
    assert_eq!(claim(&subject).await, Claimed::Gone(Missing::Unknown));
    subject.line_up([1]).await;
    let waiting = subject.standing(visitor(1)).await;
    assert_eq!(claim(&subject).await, Claimed::NotYet(waiting), "before its turn");
    assert_eq!(subject.standing(visitor(1)).await, waiting);

    subject.tick().await;
    subject.pass_seconds(59);
    let (first, change) = subject.claim(visitor(1)).await;
    let (visit, session_end_ms) = (waiting.visit(), subject.clock.now_ms() + 300_000);
    let claimed = Event::Claimed {
        visit,
        session_end_ms,
    };
    assert_eq!((change.id, change.event), (visitor(1), claimed));
    assert_eq!(subject.standing(visitor(1)).await, first);

    // Again is harmless: the session is no longer for it.
    subject.pass_seconds(100);
    let (_, again) = subject.claim(visitor(1)).await;
    assert_eq!(again.event, claimed);
    assert!(again.version > change.version);
    assert_eq!(
        subject.standing(visitor(1)).await,
        Standing::Active {
            visit,
            session_end_ms,
            now_ms: subject.clock.now_ms()
        }
    );
    assert_eq!(subject.view().await.totals.claimed, 1);
    subject.pass_seconds(200);
    assert_eq!(claim(&subject).await, Claimed::Gone(Missing::Ended));
}

pub(crate) async fn departures_by_state(mut subject: Subject) {
    subject.open(roomy()).await;
    for departure in [Departure::Leave, Departure::Complete, Departure::Evict] {
        assert_eq!(
            depart(&subject, None, departure).await,
            Departed::Missing(Missing::Unknown)
        );
        for state in STATES {
            let case = format!("{departure:?} while {state:?}");
            let subject = standing_there(&subject, state).await;
            let before = subject.standing(visitor(1)).await;
            let visit = before.visit();
            let departed = depart(&subject, Some(visit), departure).await;
            let how = match (departure, state) {
                (Departure::Complete, State::Waiting | State::Ready) => {
                    assert_eq!(departed, Departed::NotActive(before), "{case}");
                    assert_eq!(subject.standing(visitor(1)).await, before, "{case}");
                    continue;
                }
                (Departure::Leave | Departure::Complete, State::Active) => End::Completed,
                _ => End::Left,
            };
            let Departed::Gone(change) = departed else {
                panic!("{case}: {departed:?}")
            };
            assert_eq!(
                (change.id, change.event),
                (visitor(1), Event::Ended { visit, how }),
                "{case}"
            );
            let view = subject.view().await;
            assert_eq!(
                (view.waiting, view.ready, view.active, view.ended),
                (0, 0, 0, 1),
                "{case}"
            );
            let counted = u64::from(how == End::Completed);
            assert_eq!(
                (view.totals.completed, view.totals.left),
                (counted, 1 - counted),
                "{case}"
            );
            // After the end there is nothing to end.
            assert_eq!(
                depart(&subject, None, departure).await,
                Departed::Missing(Missing::Ended),
                "{case}"
            );
            subject.settle(&[visitor(1)]).await;
            assert_eq!(
                depart(&subject, Some(visit), departure).await,
                Departed::Missing(Missing::Unknown),
                "{case}"
            );
        }
    }
}

pub(crate) async fn naming_another_visit_changes_nothing(mut subject: Subject) {
    subject.open(roomy()).await;
    for state in STATES {
        let subject = standing_there(&subject, state).await;
        let (before, view) = (subject.standing(visitor(1)).await, subject.view().await);
        let visit = Some(another_than(before.visit()));
        for departure in [Departure::Leave, Departure::Complete, Departure::Evict] {
            assert_eq!(
                depart(&subject, visit, departure).await,
                Departed::OtherVisit,
                "{state:?}"
            );
        }
        let check = Check {
            visit,
            claims: true,
            consumes: true,
            let_in_until_ms: None,
        };
        assert_eq!(
            validate(&subject, check).await,
            Validated::OtherVisit,
            "{state:?}"
        );
        let extension = Extension {
            visit,
            seconds: 1_000,
            latest_end_ms: u64::from(u32::MAX) * 1_000,
        };
        assert_eq!(
            extend(&subject, extension).await,
            Extended::OtherVisit,
            "{state:?}"
        );
        assert_eq!(
            (subject.standing(visitor(1)).await, subject.view().await),
            (before, view)
        );
    }
    // A late retry of the last visit does not end the next one, however soon or late that came.
    for after_ms in [0, 1, 16, 160, 1_000, 4_000, 10_000] {
        let subject = standing_there(&subject, State::Active).await;
        let last = subject.standing(visitor(1)).await.visit();
        subject.leave(visitor(1), Departure::Complete).await;
        subject.pass_ms(after_ms);
        let next = subject.enter(visitor(1)).await.standing;
        assert_eq!(
            depart(&subject, Some(last), Departure::Leave).await,
            Departed::OtherVisit,
            "{after_ms} ms later"
        );
        assert_eq!(subject.standing(visitor(1)).await, next, "{after_ms} ms later");
    }
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
