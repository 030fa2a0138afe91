//! The order of the line, and when a visit begins.

use std::time::Duration;

use vestibule_domain::{
    change::Event,
    entry_status::EntryStatus,
    score::WaitScore,
    settings::{ReEntry, Settings},
    state::EntryState,
};
use vestibule_line::{JoinKind, LeaveReason};
use vestibule_tests::lines::{JoinedEntry, Subject, visitor};

use crate::settings::{bounded, in_turn};

fn one_a_second() -> Settings {
    bounded(1_000, 1, 1)
}

fn waiting_score(place: &JoinedEntry) -> WaitScore {
    match place.status {
        EntryStatus::Waiting { score, .. } => score,
        other => panic!("not waiting: {other:?}"),
    }
}

pub(crate) async fn entries_are_promoted_in_the_order_of_entering(mut subject: Subject) {
    subject.open(in_turn(one_a_second())).await;
    subject.change_settings(|settings| settings.paused = true).await;
    // Many entries share a millisecond, and some come later.
    for number in 1..=60 {
        let place = subject.enter(visitor(number)).await;
        assert_eq!(place.kind, JoinKind::NewVisit);
        assert_eq!(subject.position(visitor(number)).await, number);
        if number % 7 == 0 {
            subject.clock.advance(Duration::from_micros(number * 311));
        }
    }
    subject.change_settings(|settings| settings.paused = false).await;
    for next in 1..=60 {
        assert_eq!(subject.position(visitor(60)).await, 61 - next);
        assert_eq!(subject.tick().await.promoted, 1);
        assert_eq!(subject.state(visitor(next)).await, EntryState::Ready);
        if next < 60 {
            assert_eq!(
                subject.position(visitor(next + 1)).await,
                1,
                "the next entry is the head of the line"
            );
        }
        subject.advance_seconds(1);
    }
}

pub(crate) async fn entering_twice_keeps_one_place(mut subject: Subject) {
    subject.open(one_a_second()).await;
    subject.line_up([1, 2, 3]).await;
    let before = subject.status(visitor(2)).await;
    subject.advance_seconds(5);
    let again = subject.enter(visitor(2)).await;
    assert_eq!((again.kind, again.status), (JoinKind::Kept, before));
    let said_again = again
        .change
        .expect("the change is repeated, because the backup may lack it");
    assert_eq!(
        said_again.event,
        Event::Entered {
            place: waiting_score(&subject.enter(visitor(2)).await),
            after: None
        }
    );
    assert_eq!(subject.view().await.waiting, 3);

    assert_eq!(subject.tick().await.promoted, 1);
    let ready = subject.status(visitor(1)).await;
    let again = subject.enter(visitor(1)).await;
    assert_eq!(
        (again.kind, again.status, again.change),
        (JoinKind::Kept, ready, None)
    );
    let (active, claim) = subject.claim(visitor(1)).await;
    let again = subject.enter(visitor(1)).await;
    assert_eq!((again.kind, again.status), (JoinKind::Kept, active));
    let said_again = again
        .change
        .expect("the claim is repeated, because the backup may lack it");
    assert_eq!(said_again.event, claim.event);
    let totals = subject.view().await.totals;
    assert_eq!((totals.entered, totals.promoted, totals.claimed), (3, 1, 1));
}

pub(crate) async fn requeue_setting_moves_a_waiting_entry_to_the_back(mut subject: Subject) {
    subject
        .open(Settings {
            re_entry: ReEntry::Requeue,
            ..one_a_second()
        })
        .await;
    subject.line_up([1, 2, 3]).await;
    subject.advance_ms(10);
    let before = subject.status(visitor(1)).await.visit();
    let moved = subject.enter(visitor(1)).await;
    assert_eq!(moved.kind, JoinKind::Requeued);
    assert_eq!(
        moved.change.as_ref().map(|change| change.event),
        Some(Event::Entered {
            place: waiting_score(&moved),
            after: Some(before)
        }),
        "a requeued entry begins a new visit"
    );
    let positions = [
        subject.position(visitor(2)).await,
        subject.position(visitor(3)).await,
        subject.position(visitor(1)).await,
    ];
    assert_eq!(positions, [1, 2, 3]);
    assert_eq!(
        subject.view().await.totals.entered,
        3,
        "a requeued entry is no new entry"
    );

    // A ready entry keeps its turn.
    assert_eq!(subject.tick().await.promoted, 1);
    let ready = subject.status(visitor(2)).await;
    let again = subject.enter(visitor(2)).await;
    assert_eq!((again.kind, again.status), (JoinKind::Kept, ready));
}

pub(crate) async fn entering_after_the_end_starts_a_new_visit(mut subject: Subject) {
    let capacity_for_all = Settings {
        batch: 100,
        claim_seconds: 10,
        session_seconds: 10,
        ..one_a_second()
    };
    subject.open(capacity_for_all).await;
    subject.line_up(1..=5).await;
    let before = subject.status(visitor(1)).await.visit();
    let left_in_line = subject.leave(visitor(5), LeaveReason::Leave).await;
    assert_eq!(left_in_line.event.state(), EntryState::Left);
    subject.tick().await;
    for number in 1..=3 {
        subject.claim(visitor(number)).await;
    }
    subject.leave(visitor(1), LeaveReason::Complete).await;
    subject.leave(visitor(2), LeaveReason::Evict).await;
    subject.advance_seconds(10);
    // Visitor 1 completed, 2 was evicted, the session of 3 expired, 4 never claimed and 5 left. No tick has
    // dropped 3 and 4 yet.
    for number in 1..=5 {
        let place = subject.enter(visitor(number)).await;
        assert_eq!(place.kind, JoinKind::NewVisit, "visitor {number}");
        assert!(place.change.is_some(), "visitor {number}");
        let current = subject.status(visitor(number)).await;
        assert_eq!(current.visit(), place.status.visit());
    }
    assert_ne!(subject.status(visitor(1)).await.visit(), before);
    let view = subject.view().await;
    assert_eq!(
        (view.unsettled_ends, view.totals.entered),
        (5, 10),
        "the line keeps the ends of the first visits until they are acknowledged"
    );
    assert_eq!((view.totals.no_shows, view.totals.expired), (1, 1));
    let tick = subject.tick().await;
    assert_eq!(
        (tick.no_shows, tick.expired),
        (0, 0),
        "the expired visits ended when the new ones began"
    );
}

pub(crate) async fn more_than_256_entries_in_a_millisecond_keep_their_order(mut subject: Subject) {
    subject.open(one_a_second()).await;
    subject.change_settings(|settings| settings.paused = true).await;
    let mut last = None;
    for number in 1..=600 {
        let place = subject.enter(visitor(number)).await;
        assert!(last < Some(waiting_score(&place)), "visitor {number}");
        last = Some(waiting_score(&place));
        assert_eq!(
            place.status,
            subject.status(visitor(number)).await,
            "visitor {number}"
        );
    }
    // The overflow carries into the next milliseconds, and an entry of such a millisecond is still behind it.
    subject.advance_ms(1);
    let place = subject.enter(visitor(601)).await;
    assert!(last < Some(waiting_score(&place)));
    assert_eq!(subject.position(visitor(601)).await, 601);
    assert!(waiting_score(&place).joined_at_ms() - subject.clock.now_ms() <= 2);
}

pub(crate) async fn order_and_line_time_survive_a_clock_set_back(mut subject: Subject) {
    subject.open(one_a_second()).await;
    subject.line_up([1, 2]).await;
    assert_eq!(subject.tick().await.promoted, 1);
    let before = subject.enter(visitor(3)).await;
    let (ready, at_ms) = (subject.status(visitor(1)).await, subject.clock.now_ms());
    subject.clock.set_back(Duration::from_hours(1));
    assert_eq!(subject.status(visitor(1)).await, ready);
    assert_eq!(subject.view().await.now_ms, at_ms);
    let (active, change) = subject.claim(visitor(1)).await;
    assert_eq!(change.at_ms, at_ms);
    assert_eq!(
        active,
        EntryStatus::Active {
            visit: ready.visit(),
            session_end_ms: at_ms + 300_000,
            now_ms: at_ms
        }
    );
    let after = subject.enter(visitor(4)).await;
    assert!(waiting_score(&before) < waiting_score(&after));
    assert_eq!(subject.position(visitor(4)).await, 3);
    let versions =
        [before.change, after.change].map(|change| change.expect("a new entry has a change").version);
    assert!(versions[0] < versions[1], "{versions:?}");
    // The pace stands still with line time, and continues when the clock has caught up.
    assert_eq!(subject.tick().await.promoted, 0);
    subject.advance_seconds(3_600);
    assert_eq!(subject.tick().await.promoted, 0);
    subject.advance_seconds(1);
    assert_eq!(subject.tick().await.promoted, 1);
}

pub(crate) async fn a_pause_survives_a_clock_that_is_set_back(mut subject: Subject) {
    subject.open(one_a_second()).await;
    subject.line_up([1]).await;
    assert_eq!(subject.tick().await.promoted, 1);
    subject.advance_seconds(20);
    subject.change_settings(|settings| settings.paused = true).await;
    let at_ms = subject.clock.now_ms();
    subject.clock.set_back(Duration::from_secs(10));
    let ready = EntryStatus::Ready {
        visit: subject.status(visitor(1)).await.visit(),
        claim_by_ms: at_ms + 40_000,
        now_ms: at_ms,
    };
    assert_eq!(subject.status(visitor(1)).await, ready);
    subject.change_settings(|settings| settings.paused = false).await;
    assert_eq!(subject.status(visitor(1)).await, ready);
    subject.advance_seconds(10 + 39);
    assert_eq!(subject.state(visitor(1)).await, EntryState::Ready);
    subject.advance_seconds(1);
    subject.expect_not_found(visitor(1)).await;
}
