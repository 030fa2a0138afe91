//! The entrance and pause switches, and the deadlines of claims and sessions.

use vestibule_domain::{
    change::{EndReason, Event},
    entry_status::EntryStatus,
    fact::{Fact, Turn},
    pace::LimitedBy,
    settings::{Entrance, ReEntry, Settings},
    state::EntryState,
};
use vestibule_line::{Arrival, ClaimOutcome, EnterOutcome, JoinKind, LeaveReason, NotFound, Refusal};
use vestibule_tests::lines::{Subject, visitor};

use crate::{
    missing::{expect_end, expect_end_reason, unknown},
    settings::bounded,
};

fn one_at_a_time() -> Settings {
    bounded(1, 1, 1)
}

async fn expect_refused(subject: &Subject, number: u64, refusal: Refusal) {
    let entered = subject
        .line
        .enter(&subject.queue, visitor(number), Arrival::Ordinary)
        .await;
    assert_eq!(entered.expect("enter"), EnterOutcome::Refused(refusal));
}

pub(crate) async fn a_draining_queue_refuses_new_visitors_and_serves_the_line(mut subject: Subject) {
    subject
        .open(Settings {
            re_entry: ReEntry::Requeue,
            ..one_at_a_time()
        })
        .await;
    subject.line_up([1, 2]).await;
    subject
        .change_settings(|settings| settings.entrance = Entrance::Draining)
        .await;
    expect_refused(&subject, 3, Refusal::Draining).await;
    assert_eq!(subject.expect_not_found(visitor(3)).await, unknown(&subject));
    assert_eq!(subject.view().await.totals.entered, 2);
    // An entry in the line keeps its place. It cannot move to the back, because a draining queue accepts no new
    // place there.
    let again = subject.enter(visitor(1)).await;
    assert_eq!(
        (again.kind, subject.position(visitor(1)).await),
        (JoinKind::Kept, 1)
    );
    for number in [1, 2] {
        assert_eq!(subject.tick().await.promoted, 1);
        subject.claim(visitor(number)).await;
        subject.leave(visitor(number), LeaveReason::Complete).await;
        subject.advance_seconds(1);
    }
    // The visit ended, so entering again needs a new place.
    expect_refused(&subject, 1, Refusal::Draining).await;
}

pub(crate) async fn a_closed_queue_refuses_new_visitors_and_keeps_places(mut subject: Subject) {
    subject
        .open(Settings {
            capacity: 2,
            ..one_at_a_time()
        })
        .await;
    subject.line_up([1, 2]).await;
    assert_eq!(subject.tick().await.promoted, 1);
    subject
        .change_settings(|settings| settings.entrance = Entrance::Closed)
        .await;
    expect_refused(&subject, 3, Refusal::Closed).await;
    subject.claim(visitor(1)).await;
    subject.advance_seconds(5);
    let tick = subject.tick().await;
    assert_eq!((tick.promoted, tick.limited_by), (0, LimitedBy::Switch));
    assert_eq!(subject.position(visitor(2)).await, 1);
    subject
        .change_settings(|settings| settings.entrance = Entrance::Open)
        .await;
    assert_eq!(subject.tick().await.promoted, 1);
    assert_eq!(subject.state(visitor(2)).await, EntryState::Ready);
}

pub(crate) async fn a_pause_stops_promotion_and_claim_deadlines(mut subject: Subject) {
    subject
        .open(Settings {
            capacity: 10,
            batch: 2,
            ..one_at_a_time()
        })
        .await;
    subject.line_up([1, 2]).await;
    assert_eq!(subject.tick().await.promoted, 2);
    subject.claim(visitor(2)).await;
    subject.advance_seconds(20);
    subject.change_settings(|settings| settings.paused = true).await;
    subject.advance_seconds(200);

    let now_ms = subject.clock.now_ms();
    let ready = subject.status(visitor(1)).await;
    assert_eq!(
        ready,
        EntryStatus::Ready {
            visit: ready.visit(),
            claim_by_ms: now_ms + 40_000,
            now_ms
        }
    );
    // The queue has free slots and tokens and an empty line, but a new visitor has to wait.
    assert_eq!(
        subject.enter(visitor(3)).await.status.state(),
        EntryState::Waiting
    );
    let tick = subject.tick().await;
    assert_eq!(
        (tick.promoted, tick.no_shows, tick.limited_by),
        (0, 0, LimitedBy::Switch)
    );
    // A pause does not stop the clock of active sessions.
    subject.advance_seconds(80);
    assert_eq!(subject.tick().await.expired, 1);

    subject.change_settings(|settings| settings.paused = false).await;
    subject.advance_ms(39_999);
    assert_eq!(subject.state(visitor(1)).await, EntryState::Ready);
    subject.advance_ms(1);
    assert_eq!(expect_end_reason(&subject, 1).await, EndReason::NoShow);
    let tick = subject.tick().await;
    assert_eq!((tick.promoted, tick.no_shows), (1, 1));
    // The lengths of two pauses add up.
    subject.advance_seconds(10);
    subject.change_settings(|settings| settings.paused = true).await;
    subject.advance_seconds(3_600);
    subject.change_settings(|settings| settings.paused = false).await;
    subject.advance_ms(49_999);
    subject.claim(visitor(3)).await;
}

pub(crate) async fn a_no_show_frees_the_slot(mut subject: Subject) {
    subject.open(one_at_a_time()).await;
    subject.line_up([1, 2]).await;
    assert_eq!(subject.tick().await.promoted, 1);
    let visit = subject.status(visitor(1)).await.visit();
    subject.advance_ms(59_999);
    let tick = subject.tick().await;
    assert_eq!(
        (tick.no_shows, tick.promoted, tick.limited_by),
        (0, 0, LimitedBy::Capacity)
    );
    assert_eq!(subject.state(visitor(1)).await, EntryState::Ready);
    subject.advance_ms(1);
    let end = expect_end(&subject, 1).await;
    let missed = Fact::ready(visit, Turn::First, subject.clock.now_ms()).timed_out();
    let how = EndReason::NoShow;
    assert_eq!(
        end.event,
        Event::Ended { fact: missed, how },
        "the entry has ended even before a tick drops it"
    );
    assert_eq!(
        subject
            .line
            .claim(&subject.queue, visitor(1))
            .await
            .expect("claim"),
        ClaimOutcome::NotFound(NotFound::Ended(end))
    );
    let tick = subject.tick().await;
    assert_eq!((tick.no_shows, tick.promoted), (1, 1));
    assert_eq!(subject.state(visitor(2)).await, EntryState::Ready);
    let dropped = expect_end(&subject, 1).await;
    assert_eq!(dropped.event, end.event);
    assert!(dropped.version > end.version, "the tick gives the end a version");
}

pub(crate) async fn lower_claim_seconds_apply_after_the_old_deadlines(mut subject: Subject) {
    subject
        .open(Settings {
            capacity: 100,
            ..one_at_a_time()
        })
        .await;
    subject.line_up(1..=6).await;
    let claim_time_of_next = async |subject: &Subject, number| {
        assert_eq!(subject.tick().await.promoted, 1);
        match subject.status(visitor(number)).await {
            EntryStatus::Ready {
                claim_by_ms, now_ms, ..
            } => claim_by_ms - now_ms,
            other => panic!("not ready: {other:?}"),
        }
    };
    assert_eq!(claim_time_of_next(&subject, 1).await, 60_000);
    subject
        .change_settings(|settings| settings.claim_seconds = 10)
        .await;
    assert!(
        matches!(subject.status(visitor(1)).await, EntryStatus::Ready { claim_by_ms, now_ms, .. }
            if claim_by_ms - now_ms == 60_000),
        "a ready entry keeps its deadline"
    );
    subject.advance_ms(59_999);
    assert_eq!(claim_time_of_next(&subject, 2).await, 60_000);
    subject.advance_ms(1_000);
    assert_eq!(claim_time_of_next(&subject, 3).await, 10_000);
    // A longer time applies at once. If it is lowered twice, the longest pending time applies.
    subject
        .change_settings(|settings| settings.claim_seconds = 40)
        .await;
    subject.advance_seconds(1);
    assert_eq!(claim_time_of_next(&subject, 4).await, 40_000);
    subject
        .change_settings(|settings| settings.claim_seconds = 20)
        .await;
    subject.advance_seconds(20);
    subject
        .change_settings(|settings| settings.claim_seconds = 10)
        .await;
    subject.advance_seconds(39);
    assert_eq!(claim_time_of_next(&subject, 5).await, 40_000);
    subject.advance_seconds(1);
    assert_eq!(claim_time_of_next(&subject, 6).await, 10_000);
}

pub(crate) async fn the_end_of_a_session_frees_the_slot(mut subject: Subject) {
    subject.open(one_at_a_time()).await;
    subject.line_up([1, 2]).await;
    subject.tick().await;
    subject.advance_seconds(7);
    let (active, _) = subject.claim(visitor(1)).await;
    let session_end_ms = subject.clock.now_ms() + 300_000;
    assert!(matches!(active, EntryStatus::Active { session_end_ms: end, .. } if end == session_end_ms));
    subject.advance_ms(299_999);
    assert_eq!(subject.state(visitor(1)).await, EntryState::Active);
    assert_eq!(subject.tick().await.promoted, 0);
    subject.advance_ms(1);
    let end = expect_end(&subject, 1).await;
    let fact = Fact::active(active.visit(), session_end_ms).timed_out();
    let how = EndReason::Expired;
    assert_eq!(
        end.event,
        Event::Ended { fact, how },
        "the entry has ended even before a tick drops it"
    );
    let tick = subject.tick().await;
    assert_eq!((tick.expired, tick.promoted, tick.active), (1, 1, 0));
    assert_eq!(subject.state(visitor(2)).await, EntryState::Ready);
}
