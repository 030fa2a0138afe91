//! One entry goes back that the line lost and the backup has. What is lost here is what another queue of the same line has.

mod in_the_way;

use vestibule_domain::{change::Change, entry_status::EntryStatus, record::EntryRecord, state::EntryState};
use vestibule_line::{LeaveReason, NotFound, ReplacedEntry, RestoreEntryOrder, RestoreEntryOutcome};
use vestibule_tests::lines::{Subject, visitor};

pub(crate) use self::in_the_way::{
    a_record_of_another_line_changes_nothing, an_end_of_an_epoch_before_keeps_nobody_from_coming_back,
    the_old_place_replaces_a_new_one, two_who_bring_back_the_same_come_to_the_same,
};
use crate::settings::two_at_a_time;

/// What the backup shows after these changes of one entry.
fn record(changes: &[Change]) -> EntryRecord {
    let folded = changes.iter().fold(None, |status: Option<EntryRecord>, change| {
        EntryRecord::apply_change(status.as_ref(), change, 24).or(status)
    });
    folded.expect("there are changes")
}

async fn revive(subject: &Subject, record: &EntryRecord, instead: ReplacedEntry) -> RestoreEntryOutcome {
    let revival = RestoreEntryOrder {
        record: record.clone(),
        generation: 1,
        replaced: instead,
    };
    let revived = subject.line.restore_entry(&subject.queue, &revival).await;
    revived.expect("revive")
}

/// Seeks it first, as everybody must.
async fn bring_back(subject: &Subject, record: &EntryRecord) -> RestoreEntryOutcome {
    match revive(subject, record, ReplacedEntry::Nothing).await {
        RestoreEntryOutcome::TicketIssued(mark) => revive(subject, record, ReplacedEntry::Ticket(mark)).await,
        other => other,
    }
}

async fn back(subject: &Subject, record: &EntryRecord) -> (EntryStatus, Change) {
    match bring_back(subject, record).await {
        RestoreEntryOutcome::Restored { status, change } => (status, change),
        other => panic!("not back: {other:?}"),
    }
}

/// A queue whose visitors 1 to 6 came one after the other, and the same queue without 2, 4 and 6, with the changes of all.
async fn lost_every_other(mut subject: Subject) -> (Subject, Vec<Change>) {
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

pub(crate) async fn a_lost_place_is_as_it_was(subject: Subject) {
    let (subject, changes) = lost_every_other(subject).await;
    let before = subject.view().await;
    // Last first, so that the order of coming back decides nothing.
    for (number, entered) in [(6, &changes[5]), (4, &changes[3]), (2, &changes[1])] {
        assert_eq!(subject.expect_not_found(visitor(number)).await, NotFound::Unknown);
        let record = record(&[*entered]);
        let (status, change) = back(&subject, &record).await;
        assert_eq!(status, subject.status(visitor(number)).await);
        assert!(
            change.version > record.version,
            "nothing of the lost history is later"
        );
        let rewritten = EntryRecord::apply_change(Some(&record), &change, 24).expect("later");
        assert_eq!((rewritten.state, rewritten.score), (record.state, record.score));
        assert_eq!(
            revive(&subject, &record, ReplacedEntry::Nothing).await,
            RestoreEntryOutcome::AlreadyLive(status)
        );
    }
    for number in 1..=6 {
        assert_eq!(
            subject.position(visitor(number)).await,
            number,
            "the order in which they came"
        );
    }
    // Whoever comes next is behind everybody.
    subject.enter(visitor(7)).await;
    assert_eq!(subject.position(visitor(7)).await, 7);
    assert_eq!(subject.view().await.totals.entered, before.totals.entered + 4);
}

pub(crate) async fn whoever_comes_later_is_behind_even_where_the_clock_is_behind(mut subject: Subject) {
    subject.open(two_at_a_time()).await;
    let other = subject.open_sibling(two_at_a_time()).await;
    other.advance_seconds(60);
    for number in 1..=3 {
        other.enter(visitor(number)).await;
    }
    let change = other.enter(visitor(4)).await.change.expect("it is new");
    other.clock.set_back(std::time::Duration::from_mins(1));
    let (_, revived) = back(&subject, &record(&[change])).await;
    assert!(revived.version > change.version);
    let next = subject.enter(visitor(5)).await;
    assert_eq!(
        (
            subject.position(visitor(4)).await,
            subject.position(visitor(5)).await
        ),
        (1, 2)
    );
    assert!(next.change.expect("it is new").version > revived.version);
}

pub(crate) async fn ready_and_active_ones_come_back_and_nobody_else_gets_in_until_there_is_room(
    mut subject: Subject,
) {
    subject.open(two_at_a_time()).await;
    let mut other = subject.open_sibling(two_at_a_time()).await;
    for subject in [&mut subject, &mut other] {
        subject.line_up(1..=4).await;
        subject.tick().await;
    }
    // The replica has 1 and 2 ready; of the other history come one active and one ready besides.
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
        record(&changes)
    };
    let lost = subject.open_sibling(two_at_a_time()).await;
    lost.enter(visitor(8)).await;
    lost.enter(visitor(9)).await;
    lost.enter(visitor(10)).await;
    lost.advance_seconds(20);
    let (status, _) = back(&lost, &of(1)).await;
    assert_eq!(status.visit(), of(1).visit);
    assert!(
        matches!(status, EntryStatus::Active { session_end_ms, .. } if Some(session_end_ms) == of(1).expires_at_ms),
        "the session ends when it would have: {status:?}"
    );
    let (status, change) = back(&lost, &of(3)).await;
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
        "the time to claim is there anew"
    );
    let rewritten = EntryRecord::apply_change(Some(&of(3)), &change, 24).expect("later");
    assert_eq!(
        (rewritten.state, rewritten.expires_at_ms),
        (EntryState::Ready, Some(claim_by_ms))
    );
    // Four in a room of two: nobody goes in, however long.
    assert_eq!((lost.view().await.ready, lost.view().await.active), (1, 3));
    lost.advance_seconds(2);
    assert_eq!(lost.tick().await.promoted, 0);
    assert_eq!(lost.enter(visitor(11)).await.status.state(), EntryState::Waiting);
    for number in [8, 9] {
        lost.leave(visitor(number), LeaveReason::Complete).await;
        assert_eq!(lost.tick().await.promoted, 0, "there is no room yet");
    }
    lost.leave(visitor(1), LeaveReason::Complete).await;
    assert_eq!(lost.tick().await.promoted, 1);
}

pub(crate) async fn what_ended_stays_gone(subject: Subject) {
    let (subject, changes) = lost_every_other(subject).await;
    // It ended, and the backup does not know yet.
    let entered = subject.enter(visitor(1)).await.change.expect("said again");
    let left = subject.leave(visitor(1), LeaveReason::Leave).await;
    assert_eq!(
        bring_back(&subject, &record(&[entered])).await,
        RestoreEntryOutcome::AlreadyEnded
    );
    // A later visit than the one that ended was lost: it comes back.
    let mut later = changes[0];
    later.version.v = left.version.v + 1;
    back(&subject, &record(&[later])).await;

    // It came, went and was settled while somebody who had read the record before was on the way.
    let stale = record(&changes[1..2]);
    let RestoreEntryOutcome::TicketIssued(mark) = revive(&subject, &stale, ReplacedEntry::Nothing).await
    else {
        panic!("it stands nowhere");
    };
    subject.enter(visitor(2)).await;
    subject.leave(visitor(2), LeaveReason::Leave).await;
    assert_eq!(
        revive(&subject, &stale, ReplacedEntry::Ticket(mark)).await,
        RestoreEntryOutcome::AlreadyEnded
    );
    subject.acknowledge_journal(&[visitor(2)]).await;
    let revived = revive(&subject, &stale, ReplacedEntry::Ticket(mark)).await;
    assert!(
        matches!(revived, RestoreEntryOutcome::TicketIssued(again) if again != mark),
        "the record has to be read again: {revived:?}"
    );
    assert_eq!(subject.expect_not_found(visitor(2)).await, NotFound::Unknown);
}

pub(crate) async fn a_session_that_is_over_expires(mut subject: Subject) {
    subject.open(two_at_a_time()).await;
    let other = subject.open_sibling(two_at_a_time()).await;
    let change = other.enter(visitor(1)).await.change.expect("it is new");
    let active = record(&[change]);
    subject.advance_seconds(300);
    let RestoreEntryOutcome::SessionExpired(end) = bring_back(&subject, &active).await else {
        panic!("the session is over");
    };
    let after = EntryRecord::apply_change(Some(&active), &end, 24).expect("later");
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
            .expect("end"),
        Some(end),
        "whoever asks next writes it, should this caller be killed"
    );
}
