//! The end of a queue: the moment from which it takes no visitor, and the one from which it is over.

use vestibule_domain::{
    change::{EndReason, Event},
    pace::LimitedBy,
    settings::{Entrance, Settings},
    state::EntryState,
};
use vestibule_line::{Arrival, EnterOutcome, JoinKind, PROMOTE_CHUNK, Refusal};
use vestibule_tests::lines::{Subject, configuration, visitor};

use crate::{
    missing::{expect_end, expect_end_reason},
    restore::restored_entries,
    settings::{bounded, in_turn},
};

/// One promotion a second into two slots.
fn slow() -> Settings {
    bounded(2, 1, 1)
}

async fn expect_refused(subject: &Subject, number: u64, arrival: Arrival, refusal: Refusal) {
    let entered = subject.line.enter(&subject.queue, visitor(number), arrival).await;
    assert_eq!(entered.expect("enter"), EnterOutcome::Refused(refusal));
}

/// Opens a queue in which visitor 1 is active, 2 is ready, and 3 to 5 wait.
async fn open_with_every_state(subject: &mut Subject, settings: Settings) {
    subject.open(settings).await;
    subject.line_up(1..=5).await;
    assert_eq!(subject.tick().await.promoted, 1);
    subject.claim(visitor(1)).await;
    subject.advance_seconds(1);
    assert_eq!(subject.tick().await.promoted, 1);
}

/// What every finished queue does, before and after its next tick.
async fn expect_over(subject: &Subject) {
    for (number, arrival) in [
        (3, Arrival::Ordinary),
        (6, Arrival::Ordinary),
        (7, Arrival::Bypass),
    ] {
        expect_refused(subject, number, arrival, Refusal::Finished).await;
    }
    let tick = subject.tick().await;
    assert_eq!(
        (tick.promoted, tick.dismissed, tick.no_shows, tick.waiting),
        (0, 3, 0, 0)
    );
    for number in 3..=5 {
        assert_eq!(expect_end_reason(subject, number).await, EndReason::Dismissed);
    }
    let view = subject.view().await;
    assert_eq!(
        (view.totals.dismissed, view.totals.no_shows, view.imbalance.visits),
        (3, 0, 0)
    );
    let journal = subject.journal().await;
    let changes = journal.iter().flat_map(|record| &record.changes);
    let dismissed: Vec<_> = changes
        .filter(|change| {
            matches!(
                change.event,
                Event::Ended {
                    how: EndReason::Dismissed,
                    ..
                }
            )
        })
        .collect();
    assert_eq!(dismissed.len(), 3, "{journal:?}");
    assert!(dismissed.iter().all(|change| change.fact().is_over));
    assert_eq!(*dismissed[0], expect_end(subject, 3).await);

    // Who was let in before goes on.
    assert_eq!(subject.enter(visitor(2)).await.status.state(), EntryState::Ready);
    assert_eq!(subject.claim(visitor(2)).await.0.state(), EntryState::Active);
    assert_eq!(subject.enter(visitor(1)).await.kind, JoinKind::Kept);
    assert_eq!(subject.tick().await.dismissed, 0);
}

pub(crate) async fn from_closes_at_no_new_visitor_enters(mut subject: Subject) {
    let closes_at_ms = subject.clock.now_ms() + 5_000;
    let closing = Settings {
        closes_at_ms: Some(closes_at_ms),
        ..slow()
    };
    let empty = subject.open_sibling(closing.clone()).await;
    subject.open(closing).await;
    subject.line_up([1, 2]).await;
    subject.tick().await;
    subject.claim(visitor(1)).await;
    subject.advance_ms(4_998);
    subject.enter(visitor(3)).await;
    subject.advance_ms(2);
    // Both in a line and past an empty one.
    expect_refused(&subject, 4, Arrival::Ordinary, Refusal::Draining).await;
    expect_refused(&empty, 4, Arrival::Ordinary, Refusal::Draining).await;
    assert_eq!(subject.enter(visitor(3)).await.kind, JoinKind::Kept);
    assert_eq!(subject.tick().await.promoted, 1, "the line is served");
    assert_eq!(subject.state(visitor(2)).await, EntryState::Ready);
    subject
        .change_settings(|settings| settings.closes_at_ms = None)
        .await;
    subject.enter(visitor(4)).await;
}

pub(crate) async fn a_finished_queue_dismisses_its_line_and_serves_the_rest(mut subject: Subject) {
    open_with_every_state(&mut subject, slow()).await;
    subject
        .change_settings(|settings| settings.entrance = Entrance::Finished)
        .await;
    expect_over(&subject).await;
    // The queue opens for new visits, and no ended one goes on.
    subject
        .change_settings(|settings| (settings.entrance, settings.capacity) = (Entrance::Open, 100))
        .await;
    assert_eq!(subject.enter(visitor(3)).await.kind, JoinKind::NewVisit);
    assert_eq!(expect_end_reason(&subject, 4).await, EndReason::Dismissed);
}

pub(crate) async fn from_ends_at_a_queue_is_finished(mut subject: Subject) {
    let ends_at_ms = subject.clock.now_ms() + 10_000;
    open_with_every_state(
        &mut subject,
        Settings {
            ends_at_ms: Some(ends_at_ms),
            ..slow()
        },
    )
    .await;
    subject.advance_ms(8_999);
    assert_eq!(subject.tick().await.dismissed, 0);
    subject.advance_ms(1);
    expect_over(&subject).await;
}

pub(crate) async fn a_paused_queue_ends_at_its_time(mut subject: Subject) {
    subject.open(in_turn(slow())).await;
    subject.line_up([1, 2]).await;
    let ends_at_ms = subject.clock.now_ms() + 1_000;
    subject
        .change_settings(|settings| (settings.paused, settings.ends_at_ms) = (true, Some(ends_at_ms)))
        .await;
    let before = subject.tick().await;
    assert_eq!((before.dismissed, before.limited_by), (0, LimitedBy::Switch));
    subject.advance_seconds(1);
    assert_eq!(subject.tick().await.dismissed, 2);
}

pub(crate) async fn a_long_line_is_dismissed_in_chunks(mut subject: Subject) {
    subject.open(slow()).await;
    let count = PROMOTE_CHUNK + 5;
    subject.line_up(1..=count).await;
    subject
        .change_settings(|settings| settings.entrance = Entrance::Finished)
        .await;
    let first = subject.tick().await;
    assert_eq!((first.dismissed, first.has_more), (PROMOTE_CHUNK, true));
    assert_eq!(subject.position(visitor(count)).await, 5);
    let second = subject.tick().await;
    assert_eq!((second.dismissed, second.has_more, second.waiting), (5, false, 0));
}

pub(crate) async fn a_restored_line_still_ends_at_its_time(mut subject: Subject) {
    subject.open(slow()).await;
    subject.line_up([1, 2]).await;
    let mut changes = Vec::new();
    for number in [1, 2] {
        changes.extend(subject.enter(visitor(number)).await.change);
    }
    let settings = Settings {
        ends_at_ms: Some(subject.clock.now_ms()),
        ..slow()
    };
    let restored = subject.sibling();
    let put = restored
        .line
        .restore(
            &restored.queue,
            &configuration(&settings),
            0,
            restored_entries(&changes),
        )
        .await;
    put.expect("restored");
    expect_refused(&restored, 3, Arrival::Ordinary, Refusal::Finished).await;
    let tick = restored.tick().await;
    assert_eq!((tick.dismissed, tick.waiting), (2, 0));
}

pub(crate) async fn no_wait_ends_while_the_clocks_disagree(mut subject: Subject) {
    subject.open(slow()).await;
    subject.line_up([1, 2]).await;
    let ends_at_ms = subject.clock.now_ms() + 3_600_000;
    subject
        .change_settings(|settings| settings.ends_at_ms = Some(ends_at_ms))
        .await;
    subject.clock.set_server_error_ms(7_200_000);
    assert_eq!(subject.tick().await.dismissed, 0);
    assert_eq!(subject.state(visitor(1)).await, EntryState::Waiting);
}
