//! What counts from before a restore: passes and ends of an earlier epoch.

use std::time::Duration;

use vestibule_domain::{
    change::{Change, Version},
    entry_status::EntryStatus,
    state::EntryState,
};
use vestibule_line::{LeaveReason, NotFound, ValidateOutcome, Validation};
use vestibule_tests::lines::{Subject, visitor};

use crate::{
    restore::{configuration_of_epoch, restore_empty},
    settings::three_a_second,
};

pub(crate) async fn a_pass_from_before_a_restore_reactivates_until_its_end(mut subject: Subject) {
    subject.open(three_a_second()).await;
    subject.line_up(1..=5).await;
    assert_eq!(subject.tick().await.promoted, 3);
    let end_ms = subject.clock.now_ms() + 40_000;
    let check = |end_ms| Validation {
        visit: None,
        claims: false,
        consumes: false,
        reactivate_until_ms: Some(end_ms),
    };
    let validate = async |number, end_ms| {
        let validated = subject
            .line
            .validate(&subject.queue, visitor(number), check(end_ms));
        validated.await.expect("validate")
    };
    let expired = validate(4, subject.clock.now_ms()).await;
    assert!(matches!(expired, ValidateOutcome::NotActive(_)), "{expired:?}");
    for number in [1, 5] {
        let visit = subject.status(visitor(number)).await.visit();
        let ValidateOutcome::Active {
            status,
            change: Some(change),
        } = validate(number, end_ms).await
        else {
            panic!("visitor {number} is not active");
        };
        let now_ms = subject.clock.now_ms();
        let expected = EntryStatus::Active {
            visit,
            session_end_ms: end_ms,
            now_ms,
        };
        assert_eq!(
            (status, subject.status(visitor(number)).await),
            (expected, expected)
        );
        assert_eq!(change.event.state(), EntryState::Active);
    }
    let view = subject.view().await;
    assert_eq!((view.waiting, view.ready, view.active), (1, 2, 2));
    subject.advance_seconds(40);
    subject.tick().await;
    assert_eq!(
        subject.expect_not_found(visitor(5)).await,
        NotFound::RecentlyEnded
    );
}

/// A line whose clock was ahead while a visitor entered and left, restored with the correct time. Returns the
/// line and the end.
pub(crate) async fn restore_with_slow_clock(mut subject: Subject) -> (Subject, Change) {
    subject.open(three_a_second()).await;
    subject.enter(visitor(1)).await;
    let end = subject.leave(visitor(1), LeaveReason::Leave).await;
    subject.clock.set_back(Duration::from_mins(1));
    assert!(
        subject
            .line
            .drop_queue(&subject.queue, 2)
            .await
            .expect("drop_queue")
    );
    restore_empty(&subject, &configuration_of_epoch(&subject, 2), 0).await;
    let version = subject.view().await.version;
    assert!(version > end.version && version.v < end.version.v, "{version:?}");
    (subject, end)
}

pub(crate) async fn an_end_of_an_earlier_epoch_acknowledges_no_later_end(subject: Subject) {
    let (subject, first) = restore_with_slow_clock(subject).await;
    subject.enter(visitor(1)).await;
    let second = subject.leave(visitor(1), LeaveReason::Leave).await;
    let settle = async |end: &Change| {
        let ending = end.visit_end().expect("an end");
        let settled = subject.line.acknowledge(&subject.queue, &[], &[ending]).await;
        settled.expect("acknowledge");
        subject
            .line
            .unsettled_end(&subject.queue, visitor(1))
            .await
            .expect("unsettled_end")
    };
    assert_eq!(
        settle(&first).await,
        Some(second),
        "the backup may lack the second end"
    );
    assert_eq!(settle(&second).await, None);
    // An end of a later epoch supersedes all earlier ones, whatever the clocks said.
    subject.enter(visitor(1)).await;
    let mut third = subject.leave(visitor(1), LeaveReason::Leave).await;
    third.version = Version { epoch: 3, v: 1 };
    assert_eq!(settle(&third).await, None);
}
