//! A journal at its limit: the queue accepts no new entries, and every existing entry keeps its place.

use vestibule_domain::{
    change::Change,
    entry_status::EntryStatus,
    pace::LimitedBy,
    settings::{ReEntry, Settings},
    state::EntryState,
};
use vestibule_line::{Arrival, EnterOutcome, JoinKind, JournalLimits, LeaveReason, LineError, Refusal};
use vestibule_tests::lines::{Subject, visitor};

const LIMITS: JournalLimits = JournalLimits {
    new_entries: 3,
    all_changes: 5,
    dead_letters: 1,
};

/// Opens a queue in which visitors 1 and 2 are active and 3 and 4 wait, and fills the journal up to the limit
/// for new entries. A tick notices that.
async fn open_at_the_limit(subject: &Subject, re_entry: ReEntry) -> Subject {
    let mut subject = subject.with_journal_limits(LIMITS);
    subject
        .open(Settings {
            capacity: 2,
            batch: 2,
            interval_seconds: 1,
            re_entry,
            ..Settings::default()
        })
        .await;
    for number in 1..=4 {
        let change = subject.enter(visitor(number)).await.change.expect("new");
        if number > 1 {
            subject
                .line
                .append_to_journal(&subject.queue, &change)
                .await
                .expect("the journal has room");
        }
    }
    assert_eq!(subject.tick().await.promoted, 0);
    assert_eq!(subject.view().await.journal_len, LIMITS.new_entries);
    subject
}

/// Acknowledges the oldest record.
async fn acknowledge_one(subject: &Subject) {
    let oldest = subject.journal().await.remove(0).key;
    let acknowledged = subject.line.acknowledge(&subject.queue, &[oldest], &[]).await;
    acknowledged.expect("acknowledge");
}

async fn try_enter(subject: &Subject, number: u64) -> EnterOutcome {
    let entered = subject
        .line
        .enter(&subject.queue, visitor(number), Arrival::Ordinary)
        .await;
    entered.expect("an answer")
}

pub(crate) async fn a_full_journal_refuses_new_entries(subject: Subject) {
    let subject = open_at_the_limit(&subject, ReEntry::Keep).await;
    let before = subject.view().await;
    let refused = EnterOutcome::Refused(Refusal::JournalFull);
    assert_eq!(try_enter(&subject, 5).await, refused);
    assert_eq!(subject.view().await, before, "the refused entry leaves no trace");
    for number in 1..=4 {
        let place = subject.enter(visitor(number)).await;
        assert_eq!(place.kind, JoinKind::Kept, "visitor {number}");
    }

    // The fast track is refused as well, and so is a visitor who left and enters again.
    for (number, reason) in [
        (3, LeaveReason::Leave),
        (4, LeaveReason::Leave),
        (1, LeaveReason::Complete),
        (2, LeaveReason::Complete),
    ] {
        subject.leave(visitor(number), reason).await;
        assert_eq!(try_enter(&subject, number).await, refused, "visitor {number}");
    }
    subject.advance_seconds(1);
    assert_eq!(try_enter(&subject, 5).await, refused);
    let view = subject.view().await;
    assert_eq!((view.waiting, view.ready, view.active), (0, 0, 0));
    assert_eq!(view.totals.entered, 4);

    acknowledge_one(&subject).await;
    subject.tick().await;
    assert_eq!(subject.enter(visitor(5)).await.status.state(), EntryState::Active);
}

pub(crate) async fn a_full_journal_refuses_entering_after_an_expired_session(subject: Subject) {
    let subject = open_at_the_limit(&subject, ReEntry::Keep).await;
    subject.advance_seconds(300);
    let before = subject.view().await;
    assert_eq!(
        try_enter(&subject, 1).await,
        EnterOutcome::Refused(Refusal::JournalFull),
        "the session expired, so entering would start a new visit"
    );
    assert_eq!(subject.view().await, before);
    subject.acknowledge_journal(&[]).await;
    subject.tick().await;
    assert_eq!(subject.enter(visitor(1)).await.kind, JoinKind::NewVisit);
}

pub(crate) async fn a_full_journal_still_allows_requeueing(subject: Subject) {
    let subject = open_at_the_limit(&subject, ReEntry::Requeue).await;
    assert_eq!(subject.enter(visitor(3)).await.kind, JoinKind::Requeued);
    assert_eq!(subject.position(visitor(3)).await, 2);
}

/// Adds ends of visitors that the queue does not know, until the journal has as many records as it may have.
async fn fill(subject: &Subject) {
    let left = subject.leave(visitor(1), LeaveReason::Leave).await;
    for number in 100.. {
        let id = visitor(number);
        let change = Change { id, ..left };
        match subject.line.append_to_journal(&subject.queue, &change).await {
            Ok(()) => {}
            Err(LineError::JournalFull) => break,
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!(subject.view().await.journal_len, LIMITS.all_changes);
}

pub(crate) async fn at_the_limit_for_newcomers_promotion_goes_on(subject: Subject) {
    let subject = open_at_the_limit(&subject, ReEntry::Keep).await;
    subject.leave(visitor(1), LeaveReason::Complete).await;
    subject.advance_seconds(1);
    assert_eq!(
        try_enter(&subject, 5).await,
        EnterOutcome::Refused(Refusal::JournalFull)
    );
    assert_eq!(subject.tick().await.promoted, 1);
    assert_eq!(subject.state(visitor(3)).await, EntryState::Ready);
    assert_eq!(subject.view().await.journal_len, LIMITS.new_entries + 1);
}

pub(crate) async fn a_full_journal_stops_promotion_and_expiry(subject: Subject) {
    let subject = open_at_the_limit(&subject, ReEntry::Keep).await;
    fill(&subject).await;
    subject.advance_seconds(1);
    let promotion = subject.tick().await;
    assert_eq!(
        (promotion.promoted, promotion.limited_by),
        (0, LimitedBy::Journal)
    );
    assert_eq!((promotion.waiting, promotion.ready, promotion.active), (2, 0, 1));
    let view = subject.view().await;
    assert_eq!(view.journal_len, LIMITS.all_changes, "the tick adds no record");
    assert_eq!(
        view.heartbeat_ms,
        subject.clock.now_ms(),
        "the tick is a heartbeat all the same"
    );
    subject.advance_seconds(300);
    let promotion = subject.tick().await;
    assert_eq!((promotion.expired, promotion.active), (0, 1));

    // With one record less, expiry and promotion continue.
    acknowledge_one(&subject).await;
    let promotion = subject.tick().await;
    assert_eq!((promotion.expired, promotion.promoted), (1, 2));
    assert!(matches!(
        subject.status(visitor(3)).await,
        EntryStatus::Ready { .. }
    ));
}

pub(crate) async fn changes_of_existing_entries_have_a_journal_reserve(subject: Subject) {
    let subject = open_at_the_limit(&subject, ReEntry::Keep).await;
    fill(&subject).await;
    let append = async |change| subject.line.append_to_journal(&subject.queue, change).await;
    let left = subject.leave(visitor(4), LeaveReason::Leave).await;
    let full = append(&left).await;
    assert!(matches!(full, Err(LineError::JournalFull)), "{full:?}");
    // The end is not lost: the line keeps it until the backup has it.
    assert!(subject.unsettled_ends().await.contains(&left));
    // A change that replaces a record needs no room.
    let later = subject.enter(visitor(3)).await.change.expect("a repeated place");
    append(&later).await.expect("it adds no record");
    assert_eq!(subject.view().await.journal_len, LIMITS.all_changes);
    subject.acknowledge_journal(&[]).await;
    append(&left).await.expect("the journal has room again");
}
