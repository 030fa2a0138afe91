//! Repairs whose record is of an earlier visit, another epoch or another generation than the entry in the line.

use vestibule_domain::{change::Version, state::EntryState};
use vestibule_line::{Cursor, LeaveReason, LineError, RepairOrder, RepairOutcome};
use vestibule_tests::lines::{Subject, fresh_queue, visitor};

use crate::{
    check::positions,
    repair::{expect_live, modified_record, open_with_every_state, repair, repair_observed},
};

pub(crate) async fn a_repair_never_touches_a_later_visit(mut subject: Subject) {
    open_with_every_state(&mut subject).await;
    let (observed, ended_record) = (
        positions(&subject).await,
        modified_record(&subject, 3, |record| record.state = EntryState::Left).await,
    );
    subject.leave(visitor(3), LeaveReason::Leave).await;
    subject.advance_seconds(1);
    subject.enter(visitor(3)).await;
    let before = subject.status(visitor(3)).await;
    assert_eq!(
        repair_observed(&subject, 3, Some(ended_record.clone()), observed[&visitor(3)]).await,
        RepairOutcome::Moved
    );
    // With the current position as observed: the place is later than that of the end.
    let (status, _, adopted) = expect_live(repair(&subject, 3, Some(ended_record)).await);
    assert_eq!((status, adopted), (before, false));
    // The visit number is the same by chance, and the record has no place: the visit began after that end.
    let mut ended = modified_record(&subject, 3, |record| record.state = EntryState::Left).await;
    (ended.score, ended.ended_at_ms) = (None, Some(subject.clock.now_ms()));
    assert!(matches!(
        repair(&subject, 3, Some(ended.clone())).await,
        RepairOutcome::Live { .. }
    ));
    ended.ended_at_ms = Some(subject.clock.now_ms() + 1);
    let before_the_end = RepairOrder {
        id: visitor(3),
        observed: positions(&subject).await[&visitor(3)],
        generation: 1,
        record: Some(ended),
    };
    let repaired = subject.line.repair(&subject.queue, &before_the_end).await;
    assert!(matches!(repaired, Ok(RepairOutcome::Ended(_))), "{repaired:?}");
    subject.enter(visitor(3)).await;
    // A place before the ended one had ended before it.
    let later = modified_record(&subject, 3, |record| record.state = EntryState::Left).await;
    let mut earlier = modified_record(&subject, 4, |record| record.state = EntryState::Left).await;
    (earlier.score, earlier.visit) = (later.score, later.visit);
    assert!(matches!(
        repair(&subject, 4, Some(earlier)).await,
        RepairOutcome::Ended(_)
    ));
    // A visitor who claimed since the read.
    let ended_record = modified_record(&subject, 2, |record| record.state = EntryState::Expired).await;
    subject.claim(visitor(2)).await;
    assert_eq!(
        repair_observed(&subject, 2, Some(ended_record), observed[&visitor(2)]).await,
        RepairOutcome::Moved
    );
    assert_eq!(subject.state(visitor(2)).await, EntryState::Active);
    // The time of the visitor is up: the next promotion drops the entry.
    subject.advance_seconds(100_000);
    assert_eq!(repair(&subject, 2, None).await, RepairOutcome::Moved);
}

pub(crate) async fn a_record_of_another_epoch_or_generation_repairs_nothing(mut subject: Subject) {
    open_with_every_state(&mut subject).await;
    let before = (subject.view().await, positions(&subject).await);
    let later_epoch = modified_record(&subject, 3, |record| {
        record.state = EntryState::Left;
        record.version = Version { epoch: 2, v: 1 };
    });
    assert_eq!(
        repair(&subject, 3, Some(later_epoch.await)).await,
        RepairOutcome::Rejected
    );
    let other_generation = RepairOrder {
        id: visitor(3),
        observed: before.1[&visitor(3)],
        generation: 2,
        record: None,
    };
    let refused = subject.line.repair(&subject.queue, &other_generation).await;
    assert_eq!(refused.expect("repair"), RepairOutcome::Rejected);
    assert_eq!((subject.view().await, positions(&subject).await), before);
    let unknown_queue = fresh_queue();
    assert!(matches!(
        subject.line.repair(&unknown_queue, &other_generation).await,
        Err(LineError::QueueNotFound)
    ));
    let page = subject.line.read_page(&unknown_queue, &Cursor::default()).await;
    assert!(matches!(page, Err(LineError::QueueNotFound)));
}
