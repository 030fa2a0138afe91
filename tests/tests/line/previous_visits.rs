//! The visit before a new one: the line names it if it is over, so that the backup may replace it.

use vestibule_domain::{
    change::Event,
    score::Visit,
    settings::{ReEntry, Settings},
    state::EntryState,
};
use vestibule_line::{JoinKind, LeaveReason};
use vestibule_tests::lines::{Subject, visitor};

use crate::settings::{bounded, two_at_a_time};

/// The visit that a new visit names as over, so that the backup may replace it.
async fn enter_and_read_after(subject: &Subject, number: u64) -> Option<Visit> {
    let entered = subject.enter(visitor(number)).await;
    assert_eq!(entered.kind, JoinKind::NewVisit, "visitor {number}");
    match entered.change.map(|change| change.event) {
        Some(Event::Entered { place, after }) => {
            assert_eq!(EntryState::Waiting, entered.status.state());
            assert_eq!(place.visit(), entered.status.visit());
            after
        }
        Some(Event::FastTracked { place, after, .. }) => {
            assert_eq!(EntryState::Active, entered.status.state());
            assert_eq!(place.visit(), entered.status.visit());
            after
        }
        other => panic!("visitor {number}: {other:?}"),
    }
}

pub(crate) async fn a_new_visit_names_the_visit_that_is_over(mut subject: Subject) {
    let capacity_for_all = Settings {
        batch: 100,
        claim_seconds: 10,
        session_seconds: 10,
        ..bounded(1_000, 1, 1)
    };
    subject.open(capacity_for_all).await;
    subject.line_up(1..=5).await;
    let mut visits = Vec::new();
    for number in 1..=5 {
        visits.push(subject.status(visitor(number)).await.visit());
    }
    subject.tick().await;
    for number in [1, 2, 4] {
        subject.claim(visitor(number)).await;
    }
    subject.leave(visitor(1), LeaveReason::Complete).await;
    subject.leave(visitor(2), LeaveReason::Evict).await;
    subject.acknowledge_journal(&[visitor(2)]).await;
    subject.advance_seconds(10);
    // The end of visitor 1 is unsettled, that of 2 is settled, the session of 4 expired, and 3 and 5 did not claim
    // in time. A tick drops all but 3.
    for (number, after) in [(1, Some(visits[0])), (2, Some(visits[1])), (3, None)] {
        assert_eq!(
            enter_and_read_after(&subject, number).await,
            after,
            "visitor {number}"
        );
    }
    let tick = subject.tick().await;
    assert_eq!((tick.expired, tick.no_shows), (1, 1));
    for (number, after) in [(4, Some(visits[3])), (5, None), (6, None)] {
        assert_eq!(
            enter_and_read_after(&subject, number).await,
            after,
            "visitor {number}"
        );
    }
}

/// Looking for an earlier visit would slow a crowd down. If the backup still has one that goes on, it refuses the place,
/// and the adoption names the visit.
pub(crate) async fn behind_others_a_new_visit_names_none(mut subject: Subject) {
    subject.open(two_at_a_time()).await;
    subject.line_up([1, 2]).await;
    subject.leave(visitor(2), LeaveReason::Leave).await;
    assert_eq!(enter_and_read_after(&subject, 2).await, None);
    subject.leave(visitor(2), LeaveReason::Leave).await;
    subject.leave(visitor(1), LeaveReason::Leave).await;
    assert!(enter_and_read_after(&subject, 1).await.is_some());
}

/// The place that the visitor gives up may be provisional. The backup then still has the missed turn, and the visitor may
/// come back to the place of that turn.
pub(crate) async fn requeueing_after_a_missed_turn_names_no_visit(mut subject: Subject) {
    let requeue = Settings {
        re_entry: ReEntry::Requeue,
        ..two_at_a_time()
    };
    subject.open(requeue).await;
    subject.line_up([1]).await;
    subject.tick().await;
    subject.advance_seconds(60);
    assert_eq!(subject.tick().await.no_shows, 1);
    subject.line_up([1]).await;
    let moved = subject.enter(visitor(1)).await;
    assert_eq!(moved.kind, JoinKind::Requeued);
    let event = moved.change.map(|change| change.event);
    assert!(
        matches!(event, Some(Event::Entered { after: None, .. })),
        "{event:?}"
    );
}
