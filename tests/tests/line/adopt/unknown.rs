//! The line lost an entry that the backup has. The lost entries of these tests come from another queue of the same
//! line.

use std::time::Duration;

use vestibule_domain::{
    change::{Change, EndReason, Event},
    entry_status::EntryStatus,
    fact::Fact,
    record::EntryRecord,
    state::EntryState,
};
use vestibule_line::{ADOPT_WITHIN_MS, AdoptBasis, AdoptBasis::UnknownAt, AdoptOutcome, LeaveReason};
use vestibule_tests::lines::{Subject, visitor};

use super::{adopt, ended_record, expect_live};
use crate::{
    missing::{expect_end, unknown},
    restore::PUT_RULES,
    settings::two_at_a_time,
};

/// The basis of a caller that learns now that the line does not know the entry.
fn unknown_now(subject: &Subject) -> AdoptBasis {
    UnknownAt(subject.clock.now_ms())
}

/// Gives a lost entry back to the line.
pub(crate) async fn adopt_as_unknown(subject: &Subject, number: u64, record: EntryRecord) {
    expect_live(adopt(subject, number, Some(record), unknown_now(subject)).await);
}

/// Opens a queue that visitors 1 to 6 entered one after the other, and that lost 2, 4 and 6. Returns it with the
/// records of all six.
async fn open_with_every_other_lost(mut subject: Subject) -> (Subject, Vec<EntryRecord>) {
    subject.open(two_at_a_time()).await;
    let mut all = subject.open_sibling(two_at_a_time()).await;
    all.change_settings(|settings| settings.paused = true).await;
    subject.change_settings(|settings| settings.paused = true).await;
    let mut records = Vec::new();
    for number in 1..=6 {
        let entered = all.enter(visitor(number)).await.change.expect("new");
        records.push(EntryRecord::of_change(&entered, PUT_RULES));
        if number % 2 == 1 {
            subject.enter(visitor(number)).await;
        }
        subject.advance_ms(3);
    }
    (subject, records)
}

pub(crate) async fn a_lost_entry_gets_its_old_place(subject: Subject) {
    let (subject, records) = open_with_every_other_lost(subject).await;
    // The last entry is first: the order of the calls does not matter.
    for number in [6, 4, 2] {
        let lost = subject.expect_not_found(visitor(number)).await;
        assert_eq!(lost, unknown(&subject));
        let record = records[usize::try_from(number - 1).expect("small")].clone();
        let basis = unknown_now(&subject);
        let (status, change, has_adopted) =
            expect_live(adopt(&subject, number, Some(record.clone()), basis).await);
        assert_eq!((change, has_adopted), (None, true), "the backup has the place");
        assert_eq!(status, subject.status(visitor(number)).await);
        // A second caller that learned the same finds the entry.
        assert_eq!(
            expect_live(adopt(&subject, number, Some(record), basis).await),
            (status, None, false)
        );
    }
    for number in 1..=6 {
        assert_eq!(subject.position(visitor(number)).await, number);
    }
    assert_eq!(subject.view().await.totals.entered, 6);
    subject.enter(visitor(7)).await;
    assert_eq!(subject.position(visitor(7)).await, 7);
}

pub(crate) async fn new_entries_stay_behind_an_adopted_one(mut subject: Subject) {
    subject.open(two_at_a_time()).await;
    // The record comes from a server whose clock was ahead.
    let other = subject.open_sibling(two_at_a_time()).await;
    other.advance_seconds(60);
    for number in 1..=3 {
        other.enter(visitor(number)).await;
    }
    let entered = other.enter(visitor(4)).await.change.expect("new");
    other.clock.set_back(Duration::from_mins(1));
    let now_ms = subject.clock.now_ms();
    let record = EntryRecord::of_change(&entered, PUT_RULES);
    expect_live(adopt(&subject, 4, Some(record), unknown_now(&subject)).await);
    subject.enter(visitor(5)).await;
    let positions = [
        subject.position(visitor(4)).await,
        subject.position(visitor(5)).await,
    ];
    assert_eq!(positions, [1, 2]);
    assert_eq!(
        subject.view().await.now_ms,
        now_ms,
        "a record from the future does not move line time"
    );
}

pub(crate) async fn adopted_slots_block_promotion_until_there_is_room(mut subject: Subject) {
    subject.open(two_at_a_time()).await;
    let mut other = subject.open_sibling(two_at_a_time()).await;
    other.line_up(1..=2).await;
    other.tick().await;
    let promoted = other.journal().await.remove(0).changes;
    let record_of = |number, change: &Change| {
        assert_eq!(change.id, visitor(number));
        EntryRecord::of_change(change, PUT_RULES)
    };
    let (_, claimed) = other.claim(visitor(1)).await;
    for number in 8..=10 {
        subject.enter(visitor(number)).await;
    }
    subject.advance_seconds(20);
    let active = record_of(1, &claimed);
    let (status, change, _) =
        expect_live(adopt(&subject, 1, Some(active.clone()), unknown_now(&subject)).await);
    assert!(
        matches!(status, EntryStatus::Active { session_end_ms, .. } if session_end_ms == active.fact.step_ms),
        "the session keeps its end: {status:?}"
    );
    assert_eq!(change, None);
    let ready = record_of(2, &promoted[1]);
    let (status, change, _) =
        expect_live(adopt(&subject, 2, Some(ready.clone()), unknown_now(&subject)).await);
    let claim_by_ms = subject.clock.now_ms() + 60_000;
    assert!(
        matches!(status, EntryStatus::Ready { claim_by_ms: by_ms, .. } if by_ms == claim_by_ms),
        "the claim time starts again: {status:?}"
    );
    let change = change.expect("the deadline is new");
    assert_eq!(change.fact().step_ms, claim_by_ms);
    // Four slots are taken where two are allowed, so no entry is promoted, however long it waits.
    let view = subject.view().await;
    assert_eq!((view.ready, view.active), (1, 3));
    subject.advance_seconds(2);
    assert_eq!(subject.tick().await.promoted, 0);
    assert_eq!(
        subject.enter(visitor(11)).await.status.state(),
        EntryState::Waiting
    );
    for number in [8, 9] {
        subject.leave(visitor(number), LeaveReason::Complete).await;
        assert_eq!(subject.tick().await.promoted, 0, "visitor {number} left");
    }
    subject.leave(visitor(1), LeaveReason::Complete).await;
    assert_eq!(subject.tick().await.promoted, 1);
}

pub(crate) async fn old_knowledge_of_an_entry_is_rejected(subject: Subject) {
    let (subject, records) = open_with_every_other_lost(subject).await;
    let basis = unknown_now(&subject);
    let record = Some(records[1].clone());
    assert_eq!(
        adopt(&subject, 2, record.clone(), AdoptBasis::Known).await,
        AdoptOutcome::Rejected,
        "the line does not know the entry that the caller takes for known"
    );
    subject.advance_ms(ADOPT_WITHIN_MS + 1);
    assert_eq!(
        adopt(&subject, 2, record.clone(), basis).await,
        AdoptOutcome::Rejected
    );
    assert_eq!(subject.expect_not_found(visitor(2)).await, unknown(&subject));
    let basis = unknown_now(&subject);
    subject.advance_ms(ADOPT_WITHIN_MS);
    expect_live(adopt(&subject, 2, record, basis).await);
    assert_eq!(subject.position(visitor(2)).await, 2);
}

/// A process is suspended between reading a record and showing it to the line.
pub(crate) async fn an_ended_visit_does_not_come_back(subject: Subject) {
    let (subject, records) = open_with_every_other_lost(subject).await;
    let (record, basis) = (Some(records[1].clone()), unknown_now(&subject));
    // Meanwhile another process brings the visit back, and it ends.
    expect_live(adopt(&subject, 2, record.clone(), basis).await);
    let left = subject.leave(visitor(2), LeaveReason::Leave).await;
    let ended = AdoptOutcome::Ended {
        change: Some(left),
        has_removed: false,
    };
    assert_eq!(adopt(&subject, 2, record.clone(), basis).await, ended);
    subject.acknowledge_journal(&[visitor(2)]).await;
    for advance_ms in [0, ADOPT_WITHIN_MS] {
        subject.advance_ms(advance_ms);
        assert_eq!(adopt(&subject, 2, record.clone(), basis).await, ended);
        assert_eq!(expect_end(&subject, 2).await, left);
    }
    // The line forgets the end only when the knowledge of the process is too old.
    subject.advance_ms(ADOPT_WITHIN_MS + 1);
    subject.tick().await;
    assert_eq!(subject.expect_not_found(visitor(2)).await, unknown(&subject));
    assert_eq!(adopt(&subject, 2, record, basis).await, AdoptOutcome::Rejected);
}

pub(crate) async fn an_entry_without_a_live_record_stays_unknown(subject: Subject) {
    let (subject, records) = open_with_every_other_lost(subject).await;
    let before = subject.view().await;
    let fact = Fact::ended(records[1].visit());
    let ended = ended_record(&subject, 2, fact, EndReason::Left).await;
    for record in [None, Some(ended)] {
        assert_eq!(
            adopt(&subject, 2, record, unknown_now(&subject)).await,
            AdoptOutcome::Ended {
                change: None,
                has_removed: false
            }
        );
    }
    assert_eq!(subject.view().await, before);
}

pub(crate) async fn an_entry_that_entered_meanwhile_is_compared(subject: Subject) {
    let (subject, records) = open_with_every_other_lost(subject).await;
    let basis = unknown_now(&subject);
    // The visitor entered again after the caller learned that the line does not know the entry.
    let entered = subject.enter(visitor(2)).await.status;
    let (status, change, has_adopted) =
        expect_live(adopt(&subject, 2, Some(records[1].clone()), basis).await);
    assert_eq!((status, has_adopted), (entered, false));
    let event = change.map(|change| change.event);
    assert!(
        matches!(event, Some(Event::Entered { place, after: None }) if place.visit() == entered.visit()),
        "{event:?}"
    );
}
