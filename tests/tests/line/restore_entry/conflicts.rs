//! Restoring an entry while another caller restores it, with a record of another line, or after an end.

use vestibule_domain::{
    change::{Change, Event},
    score::WaitScore,
    state::EntryState,
};
use vestibule_line::{
    LeaveReason, Line, LineError, NotFound, ReplacedEntry, RestoreEntryOrder, RestoreEntryOutcome,
};
use vestibule_tests::lines::{Subject, visitor};

use super::{expect_restored, open_with_every_other_lost, record_after, restore_entry, restore_with_ticket};
use crate::settings::two_at_a_time;

pub(crate) async fn two_callers_restore_an_entry_once(subject: Subject) {
    let (subject, changes) = open_with_every_other_lost(subject).await;
    let lost = record_after(&changes[1..2]);
    let tickets = [
        restore_entry(&subject, &lost, ReplacedEntry::Nothing).await,
        restore_entry(&subject, &lost, ReplacedEntry::Nothing).await,
    ];
    let [
        RestoreEntryOutcome::TicketIssued(one),
        RestoreEntryOutcome::TicketIssued(two),
    ] = tickets
    else {
        panic!("{tickets:?}");
    };
    let (first, second) = tokio::join!(
        restore_entry(&subject, &lost, ReplacedEntry::Ticket(one)),
        restore_entry(&subject, &lost, ReplacedEntry::Ticket(two))
    );
    let restored = [&first, &second].map(|answer| matches!(answer, RestoreEntryOutcome::Restored { .. }));
    let already_live = [&first, &second].map(|answer| matches!(answer, RestoreEntryOutcome::AlreadyLive(_)));
    assert_ne!(restored, already_live, "{first:?} {second:?}");
    assert_eq!((restored[0], already_live[0]), (already_live[1], restored[1]));
    assert_eq!(subject.position(visitor(2)).await, 2);
    assert_eq!(subject.view().await.waiting, 4);
}

pub(crate) async fn a_record_of_another_epoch_or_generation_restores_nothing(subject: Subject) {
    let (subject, changes) = open_with_every_other_lost(subject).await;
    let lost = record_after(&changes[1..2]);
    let mut of_later_epoch = lost.clone();
    of_later_epoch.version.epoch = 2;
    assert_eq!(
        restore_with_ticket(&subject, &of_later_epoch).await,
        RestoreEntryOutcome::Rejected
    );
    let order = RestoreEntryOrder {
        record: lost,
        generation: 2,
        replaced: ReplacedEntry::Nothing,
    };
    let line: &dyn Line = &*subject.line;
    let restored = line.restore_entry(&subject.queue, &order).await;
    assert_eq!(restored.expect("restore_entry"), RestoreEntryOutcome::Rejected);
    assert_eq!(subject.expect_not_found(visitor(2)).await, NotFound::Unknown);
    let other_queue = subject.open_sibling(two_at_a_time()).await.queue;
    let unknown: vestibule_domain::id::QueueId = format!("{other_queue}.x").parse().expect("a queue id");
    let restored = line.restore_entry(&unknown, &order).await;
    assert!(matches!(restored, Err(LineError::QueueNotFound)), "{restored:?}");
}

pub(crate) async fn the_old_place_replaces_a_new_place(subject: Subject) {
    let (subject, changes) = open_with_every_other_lost(subject).await;
    let lost = record_after(&changes[1..2]);
    let new = subject.enter(visitor(2)).await.status;
    assert_eq!(
        subject.position(visitor(2)).await,
        4,
        "the new place is at the back"
    );
    let RestoreEntryOutcome::Restored { status, change } =
        restore_entry(&subject, &lost, ReplacedEntry::NewVisit(new.visit())).await
    else {
        panic!("the entry was not restored");
    };
    assert_eq!(status.visit(), lost.visit);
    assert!(change.version > lost.version);
    assert_eq!(subject.position(visitor(2)).await, 2);
    assert_eq!(subject.position(visitor(5)).await, 4);
    assert_eq!(
        subject.view().await.waiting,
        4,
        "the visitor has one place, not two"
    );
    // A second caller with the same order finds the entry restored.
    let again = restore_entry(&subject, &lost, ReplacedEntry::NewVisit(new.visit())).await;
    assert_eq!(again, RestoreEntryOutcome::AlreadyLive(status));
    subject.leave(visitor(2), LeaveReason::Leave).await;
    let again = restore_entry(&subject, &lost, ReplacedEntry::NewVisit(new.visit())).await;
    assert_eq!(again, RestoreEntryOutcome::AlreadyEnded);
}

pub(crate) async fn an_end_of_an_earlier_epoch_does_not_block_a_restore(subject: Subject) {
    let (subject, end) = crate::earlier_epoch::restore_with_slow_clock(subject).await;
    assert_eq!(
        subject.expect_not_found(visitor(1)).await,
        NotFound::RecentlyEnded,
        "the end of the earlier epoch is not acknowledged"
    );
    // The visitor entered again, and the line lost that.
    let version = subject.view().await.version;
    let score = WaitScore::next(0, subject.clock.now_ms());
    assert_ne!(score.visit(), end.event.visit());
    let entered = Change {
        version,
        event: Event::Entered { score },
        ..end
    };
    let (status, _) = expect_restored(&subject, &record_after(&[entered])).await;
    assert_eq!(
        (status.state(), status.visit()),
        (EntryState::Waiting, score.visit())
    );
}
