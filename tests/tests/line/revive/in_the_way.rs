//! Somebody else, another line or an end stands in the way.

use vestibule_domain::{
    change::{Change, Event},
    score::WaitScore,
    state::EntryState,
};
use vestibule_line::{
    LeaveReason, Line, LineError, NotFound, ReplacedEntry, RestoreEntryOrder, RestoreEntryOutcome,
};
use vestibule_tests::lines::{Subject, visitor};

use super::{back, bring_back, lost_every_other, record, revive};
use crate::settings::two_at_a_time;

pub(crate) async fn two_who_bring_back_the_same_come_to_the_same(subject: Subject) {
    let (subject, changes) = lost_every_other(subject).await;
    let lost = record(&changes[1..2]);
    let marks = [
        revive(&subject, &lost, ReplacedEntry::Nothing).await,
        revive(&subject, &lost, ReplacedEntry::Nothing).await,
    ];
    let [
        RestoreEntryOutcome::TicketIssued(one),
        RestoreEntryOutcome::TicketIssued(two),
    ] = marks
    else {
        panic!("{marks:?}");
    };
    let (first, second) = tokio::join!(
        revive(&subject, &lost, ReplacedEntry::Ticket(one)),
        revive(&subject, &lost, ReplacedEntry::Ticket(two))
    );
    let back = [&first, &second].map(|answer| matches!(answer, RestoreEntryOutcome::Restored { .. }));
    let here = [&first, &second].map(|answer| matches!(answer, RestoreEntryOutcome::AlreadyLive(_)));
    assert_ne!(back, here, "{first:?} {second:?}");
    assert_eq!((back[0], here[0]), (here[1], back[1]));
    assert_eq!(subject.position(visitor(2)).await, 2);
    assert_eq!(subject.view().await.waiting, 4);
}

pub(crate) async fn a_record_of_another_line_changes_nothing(subject: Subject) {
    let (subject, changes) = lost_every_other(subject).await;
    let lost = record(&changes[1..2]);
    let mut of_later_epoch = lost.clone();
    of_later_epoch.version.epoch = 2;
    assert_eq!(
        bring_back(&subject, &of_later_epoch).await,
        RestoreEntryOutcome::Rejected
    );
    let revival = RestoreEntryOrder {
        record: lost,
        generation: 2,
        replaced: ReplacedEntry::Nothing,
    };
    let line: &dyn Line = &*subject.line;
    let revived = line.restore_entry(&subject.queue, &revival).await;
    assert_eq!(revived.expect("revive"), RestoreEntryOutcome::Rejected);
    assert_eq!(subject.expect_not_found(visitor(2)).await, NotFound::Unknown);
    let nobody = subject.open_sibling(two_at_a_time()).await.queue;
    let unknown: vestibule_domain::id::QueueId = format!("{nobody}.x").parse().expect("a queue id");
    let revived = line.restore_entry(&unknown, &revival).await;
    assert!(matches!(revived, Err(LineError::QueueNotFound)), "{revived:?}");
}

pub(crate) async fn the_old_place_replaces_a_new_one(subject: Subject) {
    let (subject, changes) = lost_every_other(subject).await;
    let lost = record(&changes[1..2]);
    let new = subject.enter(visitor(2)).await.status;
    assert_eq!(subject.position(visitor(2)).await, 4, "at the back");
    let RestoreEntryOutcome::Restored { status, change } =
        revive(&subject, &lost, ReplacedEntry::NewVisit(new.visit())).await
    else {
        panic!("not back");
    };
    assert_eq!(status.visit(), lost.visit);
    assert!(change.version > lost.version);
    assert_eq!(subject.position(visitor(2)).await, 2);
    assert_eq!(subject.position(visitor(5)).await, 4);
    assert_eq!(subject.view().await.waiting, 4, "one place, not two");
    // Whoever means the same comes too late for it.
    let again = revive(&subject, &lost, ReplacedEntry::NewVisit(new.visit())).await;
    assert_eq!(again, RestoreEntryOutcome::AlreadyLive(status));
    subject.leave(visitor(2), LeaveReason::Leave).await;
    let again = revive(&subject, &lost, ReplacedEntry::NewVisit(new.visit())).await;
    assert_eq!(again, RestoreEntryOutcome::AlreadyEnded);
}

pub(crate) async fn an_end_of_an_epoch_before_keeps_nobody_from_coming_back(subject: Subject) {
    let (subject, end) = crate::restore::put_back_behind(subject).await;
    assert_eq!(
        subject.expect_not_found(visitor(1)).await,
        NotFound::RecentlyEnded,
        "nobody settled it"
    );
    // They came again, and the line lost that.
    let version = subject.view().await.version;
    let score = WaitScore::next(0, subject.clock.now_ms());
    assert_ne!(score.visit(), end.event.visit());
    let entered = Change {
        version,
        event: Event::Entered { score },
        ..end
    };
    let (status, _) = back(&subject, &record(&[entered])).await;
    assert_eq!(
        (status.state(), status.visit()),
        (EntryState::Waiting, score.visit())
    );
}
