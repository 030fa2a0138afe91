//! Repairing one entry: the line adopts what the record in the backup shows, or confirms what the backup lacks.

use vestibule_domain::{
    change::{Change, EndReason, Event},
    entry_status::{EntryStatus, StoredPosition},
    record::EntryRecord,
    score::DeadlineScore,
    state::EntryState,
};
use vestibule_line::{NotFound, RepairOrder, RepairOutcome};
use vestibule_tests::lines::{Subject, visitor};

use crate::{check::positions, settings::two_at_a_time};

/// Opens a queue in which visitor 1 is active, 2 is ready, and 3 and 4 wait.
pub(crate) async fn open_with_every_state(subject: &mut Subject) {
    subject.open(two_at_a_time()).await;
    subject.line_up(1..=4).await;
    subject.tick().await;
    subject.claim(visitor(1)).await;
}

/// The record that agrees with the entry in the line, after the given modification.
pub(crate) async fn modified_record(
    subject: &Subject,
    number: u64,
    change: impl FnOnce(&mut EntryRecord),
) -> EntryRecord {
    let position = positions(subject).await[&visitor(number)];
    let event = match position {
        StoredPosition::Waiting(score) => Event::Entered { score },
        StoredPosition::Ready(score) => Event::StillReady {
            visit: score.visit(),
            claim_by_ms: score.deadline_ms(),
        },
        StoredPosition::Active(score) => Event::Claimed {
            visit: score.visit(),
            session_end_ms: score.deadline_ms(),
        },
    };
    let confirmation = Change {
        id: visitor(number),
        version: subject.view().await.version,
        at_ms: subject.clock.now_ms(),
        event,
    };
    let mut record = EntryRecord::apply_change(None, &confirmation, 24)
        .expect("the first change of an entry makes a record");
    record.state = position.state();
    change(&mut record);
    record
}

pub(crate) async fn repair(subject: &Subject, number: u64, record: Option<EntryRecord>) -> RepairOutcome {
    let observed = positions(subject).await[&visitor(number)];
    repair_observed(subject, number, record, observed).await
}

pub(crate) async fn repair_observed(
    subject: &Subject,
    number: u64,
    record: Option<EntryRecord>,
    observed: StoredPosition,
) -> RepairOutcome {
    let order = RepairOrder {
        id: visitor(number),
        observed,
        generation: 1,
        record,
    };
    subject.line.repair(&subject.queue, &order).await.expect("repair")
}

pub(crate) fn expect_live(repaired: RepairOutcome) -> (EntryStatus, Change, bool) {
    match repaired {
        RepairOutcome::Live {
            status,
            change,
            has_adopted,
        } => (status, change, has_adopted),
        other => panic!("not live: {other:?}"),
    }
}

pub(crate) async fn an_entry_missing_in_the_backup_is_reported_again(mut subject: Subject) {
    open_with_every_state(&mut subject).await;
    for number in 1..=4 {
        let (before, version) = (
            subject.status(visitor(number)).await,
            subject.view().await.version,
        );
        let (status, change, adopted) = expect_live(repair(&subject, number, None).await);
        assert_eq!((status, adopted), (before, false));
        assert!(change.version > version);
        assert_eq!(change.event.state(), before.state());
        assert_eq!(change.event.visit(), before.visit());
        let written = EntryRecord::apply_change(None, &change, 24)
            .expect("the first change of an entry makes a record");
        assert!(written.matches_position(positions(&subject).await[&visitor(number)]));
    }
    // The record's version is ahead of this line's clock.
    let ahead = modified_record(&subject, 4, |record| record.version.v += 3_600_000_000).await;
    let (_, change, _) = expect_live(repair(&subject, 4, Some(ahead.clone())).await);
    assert!(change.version > ahead.version);
    let next = subject
        .enter(visitor(5))
        .await
        .change
        .expect("a new entry has a change");
    assert!(next.version > change.version);
}

pub(crate) async fn a_repair_adopts_the_later_state_of_the_record(mut subject: Subject) {
    open_with_every_state(&mut subject).await;
    let end_ms = subject.clock.now_ms() + 100_000;
    // The line lost a promotion of visitor 3, and a promotion with its claim of visitor 4.
    let ready = modified_record(&subject, 3, |record| {
        record.state = EntryState::Ready;
        record.expires_at_ms = Some(end_ms);
    });
    let (status, change, adopted) = expect_live(repair(&subject, 3, Some(ready.await)).await);
    assert!(adopted && status.state() == EntryState::Ready, "{status:?}");
    assert_eq!(change.event.state(), EntryState::Ready);
    let claim_by_ms = subject.clock.now_ms() + subject.settings.claim_ms();
    assert!(
        matches!(status, EntryStatus::Ready { claim_by_ms: by, .. } if by == claim_by_ms),
        "the claim time starts again"
    );
    let active = modified_record(&subject, 4, |record| {
        record.state = EntryState::Active;
        record.expires_at_ms = Some(end_ms);
    });
    let (status, ..) = expect_live(repair(&subject, 4, Some(active.await)).await);
    assert!(matches!(status, EntryStatus::Active { session_end_ms, .. } if session_end_ms == end_ms));
    assert_eq!(subject.status(visitor(4)).await, status);
    // The line lost an extension. A record with an earlier session end is outdated.
    let first = subject.status(visitor(1)).await;
    let EntryStatus::Active { session_end_ms, .. } = first else {
        panic!("{first:?}")
    };
    for (record_end_ms, expected_ms, changed) in [
        (session_end_ms - 1, session_end_ms, false),
        (session_end_ms + 9_000, session_end_ms + 9_000, true),
    ] {
        let extended =
            modified_record(&subject, 1, |record| record.expires_at_ms = Some(record_end_ms)).await;
        let (status, _, adopted) = expect_live(repair(&subject, 1, Some(extended)).await);
        assert!(
            matches!(status, EntryStatus::Active { session_end_ms, .. } if session_end_ms == expected_ms)
        );
        assert_eq!(adopted, changed);
    }
    // A state never goes back.
    let before = subject.status(visitor(2)).await;
    let waiting = modified_record(&subject, 2, |record| record.state = EntryState::Waiting).await;
    let (status, _, adopted) = expect_live(repair(&subject, 2, Some(waiting)).await);
    assert_eq!((status, adopted), (before, false));
    // Two more slots are taken than the capacity allows, so no entry is promoted.
    assert_eq!(subject.tick().await.promoted, 0);
}

pub(crate) async fn a_repair_removes_entries_that_ended_in_the_backup(mut subject: Subject) {
    open_with_every_state(&mut subject).await;
    let now_ms = subject.clock.now_ms();
    for (number, state, how) in [
        (1, EntryState::Completed, EndReason::Completed),
        (2, EntryState::Expired, EndReason::NoShow),
        (3, EntryState::Left, EndReason::Left),
    ] {
        let ended_record = modified_record(&subject, number, |record| record.state = state).await;
        let RepairOutcome::Ended(end) = repair(&subject, number, Some(ended_record.clone())).await else {
            panic!("visitor {number} is still in the line")
        };
        assert_eq!(
            end.event,
            Event::Ended {
                visit: ended_record.visit,
                how
            }
        );
        assert!(end.version > ended_record.version);
        assert_eq!(
            subject.expect_not_found(visitor(number)).await,
            NotFound::RecentlyEnded
        );
        assert_eq!(
            subject
                .line
                .unsettled_end(&subject.queue, visitor(number))
                .await
                .expect("unsettled_end"),
            Some(end)
        );
    }
    // The backup shows a session that has ended by now.
    let late = modified_record(&subject, 4, |record| {
        record.state = EntryState::Active;
        record.expires_at_ms = Some(now_ms);
    });
    let RepairOutcome::Ended(end) = repair(&subject, 4, Some(late.await)).await else {
        panic!("the session did not end")
    };
    assert_eq!(end.event.state(), EntryState::Expired);
    let view = subject.view().await;
    assert_eq!((view.waiting, view.ready, view.active), (0, 0, 0));
}

pub(crate) async fn a_ready_entry_is_matched_by_its_visible_deadline(mut subject: Subject) {
    open_with_every_state(&mut subject).await;
    // The claim clock stands still for a while, so the turn ends later than its stored deadline says.
    subject.change_settings(|settings| settings.paused = true).await;
    subject.advance_seconds(7);
    subject.change_settings(|settings| settings.paused = false).await;
    let status = subject.status(visitor(2)).await;
    assert_ne!(
        StoredPosition::from_status(&status),
        positions(&subject).await[&visitor(2)]
    );
    let ended_record = modified_record(&subject, 2, |record| record.state = EntryState::Left).await;
    let EntryStatus::Ready {
        visit, claim_by_ms, ..
    } = status
    else {
        panic!("{status:?}")
    };
    let other_position = StoredPosition::Ready(DeadlineScore::new(claim_by_ms - 1, visit));
    assert_eq!(
        repair_observed(&subject, 2, Some(ended_record.clone()), other_position).await,
        RepairOutcome::Moved
    );
    let repaired = repair_observed(
        &subject,
        2,
        Some(ended_record),
        StoredPosition::from_status(&status),
    )
    .await;
    assert!(matches!(repaired, RepairOutcome::Ended(_)), "{repaired:?}");
    assert_eq!(subject.view().await.ready, 0);
}
