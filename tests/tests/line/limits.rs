//! A journal that is at its limit: nobody new, and everybody who has a place keeps it.

use vestibule_domain::{
    entry_status::EntryStatus,
    pace::LimitedBy,
    settings::{ReEntry, Settings},
    state::EntryState,
};
use vestibule_line::{EnterOutcome, JoinKind, JournalLimits, LeaveReason, LineError, Refusal};
use vestibule_tests::lines::{Subject, visitor};

const LIMITS: JournalLimits = JournalLimits {
    new_entries: 3,
    all_changes: 5,
    dead_letters: 1,
};

/// Visitors 1 to 4 have places, the first two of them inside; records fill the journal up to its limit for newcomers.
async fn at_the_limit(subject: &Subject, re_entry: ReEntry) -> Subject {
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
                .expect("there is room");
        }
    }
    assert_eq!(subject.view().await.journal_len, LIMITS.new_entries);
    subject
}

/// The backup takes one record.
async fn settle_one(subject: &Subject) {
    let oldest = subject.journal().await.remove(0).key;
    let settled = subject.line.acknowledge(&subject.queue, &[oldest], &[]).await;
    settled.expect("settled");
}

async fn enters(subject: &Subject, number: u64) -> EnterOutcome {
    let entered = subject.line.enter(&subject.queue, visitor(number)).await;
    entered.expect("an answer")
}

pub(crate) async fn at_the_limit_nobody_gets_a_new_place(subject: Subject) {
    let subject = at_the_limit(&subject, ReEntry::Keep).await;
    let before = subject.view().await;
    let refused = EnterOutcome::Refused(Refusal::JournalFull);
    assert_eq!(enters(&subject, 5).await, refused);
    assert_eq!(subject.view().await, before, "nothing of it is left behind");
    for number in 1..=4 {
        let place = subject.enter(visitor(number)).await;
        assert_eq!(place.kind, JoinKind::Kept, "visitor {number}");
    }

    // Nor on the fast track, and whoever left is new.
    for number in [3, 4, 1, 2] {
        subject.leave(visitor(number), LeaveReason::Leave).await;
        assert_eq!(enters(&subject, number).await, refused, "visitor {number}");
    }
    subject.advance_seconds(1);
    assert_eq!(enters(&subject, 5).await, refused);
    let view = subject.view().await;
    assert_eq!((view.waiting, view.ready, view.active), (0, 0, 0));
    assert_eq!(view.totals.entered, 4);

    settle_one(&subject).await;
    assert_eq!(subject.enter(visitor(5)).await.status.state(), EntryState::Active);
}

pub(crate) async fn at_the_limit_a_session_that_ran_out_is_no_way_in(subject: Subject) {
    let subject = at_the_limit(&subject, ReEntry::Keep).await;
    subject.advance_seconds(300);
    let before = subject.view().await;
    assert_eq!(
        enters(&subject, 1).await,
        EnterOutcome::Refused(Refusal::JournalFull),
        "its session is over: it would be a new visit"
    );
    assert_eq!(subject.view().await, before);
    subject.acknowledge_journal(&[]).await;
    assert_eq!(subject.enter(visitor(1)).await.kind, JoinKind::NewVisit);
}

pub(crate) async fn at_the_limit_whoever_asks_to_may_still_move_back(subject: Subject) {
    let subject = at_the_limit(&subject, ReEntry::Requeue).await;
    assert_eq!(subject.enter(visitor(3)).await.kind, JoinKind::Requeued);
    assert_eq!(subject.position(visitor(3)).await, 2);
}

pub(crate) async fn at_the_limit_nobody_is_promoted_or_dropped(subject: Subject) {
    let subject = at_the_limit(&subject, ReEntry::Keep).await;
    subject.leave(visitor(1), LeaveReason::Complete).await;
    subject.advance_seconds(1);
    let promotion = subject.tick().await;
    assert_eq!(
        (promotion.promoted, promotion.limited_by),
        (0, LimitedBy::Journal)
    );
    assert_eq!((promotion.waiting, promotion.ready, promotion.active), (2, 0, 1));
    let view = subject.view().await;
    assert_eq!(view.journal_len, LIMITS.new_entries, "nothing is added");
    assert_eq!(
        view.heartbeat_ms,
        subject.clock.now_ms(),
        "a promoter is there all the same"
    );
    subject.advance_seconds(300);
    let promotion = subject.tick().await;
    assert_eq!((promotion.expired, promotion.active), (0, 1));

    // One record less, and it goes on where it stood.
    settle_one(&subject).await;
    let promotion = subject.tick().await;
    assert_eq!((promotion.expired, promotion.promoted), (1, 2));
    assert!(matches!(
        subject.status(visitor(3)).await,
        EntryStatus::Ready { .. }
    ));
}

pub(crate) async fn what_was_promised_has_a_reserve(subject: Subject) {
    let subject = at_the_limit(&subject, ReEntry::Keep).await;
    let left = subject.leave(visitor(1), LeaveReason::Leave).await;
    for _ in LIMITS.new_entries..LIMITS.all_changes {
        subject
            .line
            .append_to_journal(&subject.queue, &left)
            .await
            .expect("of the reserve");
    }
    let full = subject.line.append_to_journal(&subject.queue, &left).await;
    assert!(matches!(full, Err(LineError::JournalFull)), "{full:?}");
    assert_eq!(subject.view().await.journal_len, LIMITS.all_changes);
    // The end is not lost with that: the line remembers it until the backup has it.
    let end = subject.line.unsettled_end(&subject.queue, visitor(1)).await;
    assert_eq!(end.expect("an answer"), Some(left));
    subject.acknowledge_journal(&[]).await;
    subject
        .line
        .append_to_journal(&subject.queue, &left)
        .await
        .expect("there is room again");
}
