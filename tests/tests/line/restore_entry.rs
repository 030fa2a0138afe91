//! Restoring one entry that the line lost and the backup has. The lost entries of these tests come from another
//! queue of the same line.

mod conflicts;

use vestibule_domain::{change::Change, entry_status::EntryStatus, record::EntryRecord, state::EntryState};
use vestibule_line::{LeaveReason, NotFound, ReplacedEntry, RestoreEntryOrder, RestoreEntryOutcome};
use vestibule_tests::lines::{Subject, visitor};

pub(crate) use self::conflicts::{
    a_record_of_another_epoch_or_generation_restores_nothing,
    an_end_of_an_earlier_epoch_does_not_block_a_restore, the_old_place_replaces_a_new_place,
    two_callers_restore_an_entry_once,
};
use crate::settings::two_at_a_time;

/// The record of one entry after these changes.
fn record_after(changes: &[Change]) -> EntryRecord {
    let folded = changes.iter().fold(None, |status: Option<EntryRecord>, change| {
        EntryRecord::apply_change(status.as_ref(), change, 24).or(status)
    });
    folded.expect("there is at least one change")
}

async fn restore_entry(
    subject: &Subject,
    record: &EntryRecord,
    replaced: ReplacedEntry,
) -> RestoreEntryOutcome {
    let order = RestoreEntryOrder {
        record: record.clone(),
        generation: 1,
        replaced,
    };
    let restored = subject.line.restore_entry(&subject.queue, &order).await;
    restored.expect("restore_entry")
}

/// Requests a ticket first, as each caller must.
async fn restore_with_ticket(subject: &Subject, record: &EntryRecord) -> RestoreEntryOutcome {
    match restore_entry(subject, record, ReplacedEntry::Nothing).await {
        RestoreEntryOutcome::TicketIssued(ticket) => {
            restore_entry(subject, record, ReplacedEntry::Ticket(ticket)).await
        }
        other => other,
    }
}

async fn expect_restored(subject: &Subject, record: &EntryRecord) -> (EntryStatus, Change) {
    match restore_with_ticket(subject, record).await {
        RestoreEntryOutcome::Restored { status, change } => (status, change),
        other => panic!("not restored: {other:?}"),
    }
}

/// A queue that visitors 1 to 6 entered one after the other, and that lost 2, 4 and 6. Returns it with the
/// changes of all six.
async fn open_with_every_other_lost(mut subject: Subject) -> (Subject, Vec<Change>) {
    subject.open(two_at_a_time()).await;
    let mut all = subject.open_sibling(two_at_a_time()).await;
    all.change_settings(|settings| settings.paused = true).await;
    subject.change_settings(|settings| settings.paused = true).await;
    let mut changes = Vec::new();
    for number in 1..=6 {
        changes.extend(all.enter(visitor(number)).await.change);
        if number % 2 == 1 {
            subject.enter(visitor(number)).await;
        }
        subject.advance_ms(3);
    }
    (subject, changes)
}

pub(crate) async fn a_restored_entry_has_its_old_place(subject: Subject) {
    let (subject, changes) = open_with_every_other_lost(subject).await;
    let before = subject.view().await;
    // The last entry returns first: the order of restoring does not matter.
    for (number, entered) in [(6, &changes[5]), (4, &changes[3]), (2, &changes[1])] {
        assert_eq!(subject.expect_not_found(visitor(number)).await, NotFound::Unknown);
        let record = record_after(&[*entered]);
        let (status, change) = expect_restored(&subject, &record).await;
        assert_eq!(status, subject.status(visitor(number)).await);
        assert!(
            change.version > record.version,
            "the new version supersedes the lost history"
        );
        let rewritten = EntryRecord::apply_change(Some(&record), &change, 24).expect("a later change");
        assert_eq!((rewritten.state, rewritten.score), (record.state, record.score));
        assert_eq!(
            restore_entry(&subject, &record, ReplacedEntry::Nothing).await,
            RestoreEntryOutcome::AlreadyLive(status)
        );
    }
    for number in 1..=6 {
        assert_eq!(
            subject.position(visitor(number)).await,
            number,
            "the order of entering is unchanged"
        );
    }
    // The next visitor is behind all others.
    subject.enter(visitor(7)).await;
    assert_eq!(subject.position(visitor(7)).await, 7);
    assert_eq!(subject.view().await.totals.entered, before.totals.entered + 4);
}

pub(crate) async fn new_entries_stay_behind_a_restored_one_on_a_slow_clock(mut subject: Subject) {
    subject.open(two_at_a_time()).await;
    let other = subject.open_sibling(two_at_a_time()).await;
    other.advance_seconds(60);
    for number in 1..=3 {
        other.enter(visitor(number)).await;
    }
    let change = other
        .enter(visitor(4))
        .await
        .change
        .expect("a new entry has a change");
    other.clock.set_back(std::time::Duration::from_mins(1));
    let (_, restored) = expect_restored(&subject, &record_after(&[change])).await;
    assert!(restored.version > change.version);
    let next = subject.enter(visitor(5)).await;
    assert_eq!(
        (
            subject.position(visitor(4)).await,
            subject.position(visitor(5)).await
        ),
        (1, 2)
    );
    assert!(next.change.expect("a new entry has a change").version > restored.version);
}

pub(crate) async fn restored_slots_block_promotion_until_there_is_room(mut subject: Subject) {
    subject.open(two_at_a_time()).await;
    let mut other = subject.open_sibling(two_at_a_time()).await;
    for subject in [&mut subject, &mut other] {
        subject.line_up(1..=4).await;
        subject.tick().await;
    }
    // In both queues visitors 1 and 2 are ready. The history of the other one goes on: visitor 1 becomes
    // active, 2 leaves and 3 is promoted.
    let (_, claimed) = other.claim(visitor(1)).await;
    other.leave(visitor(2), LeaveReason::Leave).await;
    other.advance_seconds(1);
    other.tick().await;
    let journal = other.journal().await;
    let of = |number| {
        let mut changes: Vec<_> = journal
            .iter()
            .flat_map(|record| &record.changes)
            .copied()
            .collect();
        changes.push(claimed);
        changes.retain(|change| change.id == visitor(number));
        changes.sort_by_key(|change| change.version);
        record_after(&changes)
    };
    let lost = subject.open_sibling(two_at_a_time()).await;
    lost.enter(visitor(8)).await;
    lost.enter(visitor(9)).await;
    lost.enter(visitor(10)).await;
    lost.advance_seconds(20);
    let (status, _) = expect_restored(&lost, &of(1)).await;
    assert_eq!(status.visit(), of(1).visit);
    assert!(
        matches!(status, EntryStatus::Active { session_end_ms, .. } if Some(session_end_ms) == of(1).expires_at_ms),
        "the session keeps its end: {status:?}"
    );
    let (status, change) = expect_restored(&lost, &of(3)).await;
    let now_ms = lost.clock.now_ms();
    let claim_by_ms = now_ms + 60_000;
    let visit = of(3).visit;
    assert_eq!(
        status,
        EntryStatus::Ready {
            visit,
            claim_by_ms,
            now_ms
        },
        "the claim time starts again"
    );
    let rewritten = EntryRecord::apply_change(Some(&of(3)), &change, 24).expect("a later change");
    assert_eq!(
        (rewritten.state, rewritten.expires_at_ms),
        (EntryState::Ready, Some(claim_by_ms))
    );
    // Four slots are taken where two are allowed, so no entry is promoted, however long it waits.
    assert_eq!((lost.view().await.ready, lost.view().await.active), (1, 3));
    lost.advance_seconds(2);
    assert_eq!(lost.tick().await.promoted, 0);
    assert_eq!(lost.enter(visitor(11)).await.status.state(), EntryState::Waiting);
    for number in [8, 9] {
        lost.leave(visitor(number), LeaveReason::Complete).await;
        assert_eq!(
            lost.tick().await.promoted,
            0,
            "there is no room yet after visitor {number} completed"
        );
    }
    lost.leave(visitor(1), LeaveReason::Complete).await;
    assert_eq!(lost.tick().await.promoted, 1);
}

pub(crate) async fn an_ended_visit_is_not_restored(subject: Subject) {
    let (subject, changes) = open_with_every_other_lost(subject).await;
    // The visit ended, and the backup does not know it yet.
    let entered = subject
        .enter(visitor(1))
        .await
        .change
        .expect("the change is repeated");
    let left = subject.leave(visitor(1), LeaveReason::Leave).await;
    assert_eq!(
        restore_with_ticket(&subject, &record_after(&[entered])).await,
        RestoreEntryOutcome::AlreadyEnded
    );
    // The line lost a later visit than the one that ended: that one is restored.
    let mut later = changes[0];
    later.version.v = left.version.v + 1;
    expect_restored(&subject, &record_after(&[later])).await;

    // The visitor enters and leaves, and the end is acknowledged, while a caller still holds the record from
    // before.
    let stale = record_after(&changes[1..2]);
    let RestoreEntryOutcome::TicketIssued(ticket) =
        restore_entry(&subject, &stale, ReplacedEntry::Nothing).await
    else {
        panic!("the entry is still in the line");
    };
    subject.enter(visitor(2)).await;
    subject.leave(visitor(2), LeaveReason::Leave).await;
    assert_eq!(
        restore_entry(&subject, &stale, ReplacedEntry::Ticket(ticket)).await,
        RestoreEntryOutcome::AlreadyEnded
    );
    subject.acknowledge_journal(&[visitor(2)]).await;
    let restored = restore_entry(&subject, &stale, ReplacedEntry::Ticket(ticket)).await;
    assert!(
        matches!(restored, RestoreEntryOutcome::TicketIssued(again) if again != ticket),
        "the caller has to read the record again: {restored:?}"
    );
    assert_eq!(subject.expect_not_found(visitor(2)).await, NotFound::Unknown);
}

pub(crate) async fn a_restored_session_past_its_end_expires(mut subject: Subject) {
    subject.open(two_at_a_time()).await;
    let other = subject.open_sibling(two_at_a_time()).await;
    let change = other
        .enter(visitor(1))
        .await
        .change
        .expect("a new entry has a change");
    let active = record_after(&[change]);
    subject.advance_seconds(300);
    let RestoreEntryOutcome::SessionExpired(end) = restore_with_ticket(&subject, &active).await else {
        panic!("the session did not end");
    };
    let after = EntryRecord::apply_change(Some(&active), &end, 24).expect("a later change");
    assert_eq!((after.state, after.visit), (EntryState::Expired, active.visit));
    assert_eq!(
        subject.expect_not_found(visitor(1)).await,
        NotFound::RecentlyEnded
    );
    assert_eq!(
        subject
            .line
            .unsettled_end(&subject.queue, visitor(1))
            .await
            .expect("unsettled_end"),
        Some(end),
        "the line keeps the end, so that the next caller writes it if this one is killed"
    );
}
