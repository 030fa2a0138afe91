//! What the line keeps for the backup: the journal and the recent ends.

use std::collections::{HashMap, HashSet};

use vestibule_domain::{
    change::{Change, EndReason, Event, Version},
    entry_status::EntryStatus,
    fact::{Fact, Turn},
    score::Visit,
    settings::Settings,
};
use vestibule_line::{ExtendOutcome, LeaveReason, SETTLED_END_KEPT_MS, SessionExtension};
use vestibule_tests::lines::{Subject, visitor};

use crate::{
    missing::{expect_end, unknown},
    settings::three_a_second,
};

fn no_show_event(visit: Visit, claim_by_ms: u64) -> Event {
    Event::Ended {
        fact: Fact::ready(visit, Turn::First, claim_by_ms).timed_out(),
        how: EndReason::NoShow,
    }
}

fn expired_event(visit: Visit, session_end_ms: u64) -> Event {
    Event::Ended {
        fact: Fact::active(visit, session_end_ms).timed_out(),
        how: EndReason::Expired,
    }
}

pub(crate) async fn the_journal_lists_promotions_and_ends_in_order(mut subject: Subject) {
    subject.open(three_a_second()).await;
    assert!(subject.journal().await.is_empty());
    subject.line_up(1..=7).await;
    let mut scores = HashMap::new();
    for number in 1..=7 {
        if let EntryStatus::Waiting { score, .. } = subject.status(visitor(number)).await {
            scores.insert(number, score);
        }
    }
    let promoted = |number, claim_by_ms| Event::Promoted {
        place: scores[&number],
        turn: Turn::First,
        claim_by_ms,
    };
    let first_ms = subject.clock.now_ms();
    subject.tick().await;
    let (_, claim) = subject.claim(visitor(1)).await;
    subject.tick().await; // This tick changes nothing, so it writes no record.
    subject.advance_seconds(1);
    subject.tick().await;
    subject.advance_seconds(299);
    let last_ms = subject.clock.now_ms();
    subject.tick().await;

    let records = subject.journal().await;
    let happened: Vec<Vec<_>> = records
        .iter()
        .map(|record| {
            let mut of_one: Vec<_> = record
                .changes
                .iter()
                .map(|change| (change.id, change.event))
                .collect();
            of_one.sort_by_key(|(id, _)| (1..=7).find(|number| visitor(*number) == *id));
            of_one
        })
        .collect();
    let (by_ms, one_later_ms, at_last_ms) = (first_ms + 60_000, first_ms + 61_000, last_ms + 60_000);
    let wanted = [
        vec![
            (1, promoted(1, by_ms)),
            (2, promoted(2, by_ms)),
            (3, promoted(3, by_ms)),
        ],
        vec![
            (4, promoted(4, one_later_ms)),
            (5, promoted(5, one_later_ms)),
            (6, promoted(6, one_later_ms)),
        ],
        // The session of visitor 1 and the turns of 2 to 6 ended. Visitor 7 is promoted.
        [(1, expired_event(scores[&1].visit(), first_ms + 300_000))]
            .into_iter()
            .chain((2..=6).map(|number| {
                let claim_by_ms = if number < 4 { by_ms } else { one_later_ms };
                (number, no_show_event(scores[&number].visit(), claim_by_ms))
            }))
            .chain([(7, promoted(7, at_last_ms))])
            .collect(),
    ]
    .map(|of_one| {
        of_one
            .into_iter()
            .map(|(number, event)| (visitor(number), event))
            .collect::<Vec<_>>()
    });
    assert_eq!(happened, wanted);
    // Versions follow the order of events, including the changes that callers write themselves.
    let versions: Vec<Version> = records.iter().map(|record| record.changes[0].version).collect();
    assert!(
        versions[0] < claim.version && claim.version < versions[1] && versions[1] < versions[2],
        "{versions:?} {claim:?}"
    );
    for record in &records {
        let one = &record.changes[0];
        assert!(
            record
                .changes
                .iter()
                .all(|change| (change.version, change.at_ms) == (one.version, one.at_ms))
        );
    }
    assert_eq!(records[2].changes[0].at_ms, last_ms);
}

pub(crate) async fn acknowledged_records_leave_the_journal(mut subject: Subject) {
    subject.open(three_a_second()).await;
    subject.line_up(1..=7).await;
    for _ in 0..3 {
        subject.tick().await;
        subject.advance_seconds(1);
    }
    let records = subject.journal().await;
    // Reading starts with the oldest records.
    let oldest = subject
        .line
        .due_journal_records(&subject.queue, 2)
        .await
        .expect("journal");
    assert_eq!(oldest, records[..2]);
    let keys = [records[0].key.clone(), records[1].key.clone()];
    subject
        .line
        .acknowledge(&subject.queue, &keys, &[])
        .await
        .expect("acknowledge");
    assert_eq!(subject.journal().await, records[2..]);
    assert_eq!(subject.view().await.journal_len, 1);
    subject
        .line
        .acknowledge(&subject.queue, &keys, &[])
        .await
        .expect("acknowledging again is harmless");
    subject.acknowledge_journal(&[]).await;
    assert!(subject.journal().await.is_empty());
}

pub(crate) async fn appended_changes_of_every_kind_read_back_unchanged(mut subject: Subject) {
    subject
        .open(Settings {
            batch: 1,
            ..three_a_second()
        })
        .await;
    // One change of each kind.
    let fast = subject.enter(visitor(1)).await.change.expect("new");
    let waiting = subject.enter(visitor(2)).await.change.expect("new");
    subject.advance_seconds(1);
    subject.tick().await;
    let promoted = subject.journal().await[0].changes[0];
    let (_, claimed) = subject.claim(visitor(2)).await;
    let extension = SessionExtension {
        visit: None,
        seconds: 1_000,
        latest_end_ms: subject.clock.now_ms() + 900_000,
    };
    let extended = match subject.line.extend(&subject.queue, visitor(2), extension).await {
        Ok(ExtendOutcome::Active { change, .. }) => change,
        other => panic!("{other:?}"),
    };
    let completed = subject.leave(visitor(2), LeaveReason::Complete).await;
    let evicted = subject.leave(visitor(1), LeaveReason::Evict).await;
    let again = subject.enter(visitor(1)).await.change.expect("new");
    let left = subject.leave(visitor(1), LeaveReason::Leave).await;
    let (visit, at_ms) = (waiting.event.visit(), left.at_ms);
    let second_turn = |claim_by_ms| Event::StillReady {
        visit,
        turn: Turn::Second,
        claim_by_ms,
    };
    let others = [
        no_show_event(visit, at_ms),
        expired_event(visit, at_ms),
        second_turn(at_ms),
        Event::CameBack { place: visit.place() },
    ];
    let mut changes = vec![
        fast, waiting, promoted, claimed, extended, completed, evicted, again, left,
    ];
    changes.extend(others.map(|event| Change { event, ..left }));
    subject.acknowledge_journal(&[]).await;
    for change in changes {
        subject
            .line
            .append_to_journal(&subject.queue, &change)
            .await
            .expect("append_to_journal");
        assert_eq!(subject.journal().await.remove(0).changes, [change]);
        subject.acknowledge_journal(&[]).await;
    }
}

pub(crate) async fn the_line_keeps_an_end_until_it_is_acknowledged(mut subject: Subject) {
    subject.open(three_a_second()).await;
    subject.line_up(1..=4).await;
    subject.tick().await;
    subject.claim(visitor(1)).await;
    subject.leave(visitor(1), LeaveReason::Complete).await;
    subject.leave(visitor(4), LeaveReason::Leave).await;
    subject.advance_seconds(60);
    for number in 1..=4 {
        expect_end(&subject, number).await;
    }
    assert_eq!(subject.tick().await.no_shows, 2);
    assert_eq!(subject.view().await.unsettled_ends, 4);
    subject.acknowledge_journal(&[visitor(1), visitor(2)]).await;
    assert_eq!(subject.view().await.unsettled_ends, 2);
    let unsettled: HashSet<_> = subject.unsettled_ends().await.iter().map(|end| end.id).collect();
    assert_eq!(unsettled, [visitor(3), visitor(4)].into());
}

/// Another process may hold a record from before the end, so the line remembers the end for a while.
pub(crate) async fn a_settled_end_is_kept_for_ten_seconds(mut subject: Subject) {
    subject.open(three_a_second()).await;
    subject.line_up(1..=3).await;
    for number in 1..=3 {
        subject.leave(visitor(number), LeaveReason::Leave).await;
    }
    subject.acknowledge_journal(&[visitor(1)]).await;
    subject.advance_ms(SETTLED_END_KEPT_MS);
    subject.tick().await;
    expect_end(&subject, 1).await;
    subject.acknowledge_journal(&[visitor(2)]).await;
    // A repeated acknowledgement does not keep the end any longer.
    subject.acknowledge_journal(&[visitor(1)]).await;
    subject.advance_ms(1);
    subject.tick().await;
    assert_eq!(subject.expect_not_found(visitor(1)).await, unknown(&subject));
    expect_end(&subject, 2).await;
    assert_eq!(subject.view().await.unsettled_ends, 1);
    // An acknowledgement deletes settled ends, too, because a queue may have no promoter for a while.
    subject.advance_ms(SETTLED_END_KEPT_MS);
    subject.acknowledge_journal(&[]).await;
    assert_eq!(subject.expect_not_found(visitor(2)).await, unknown(&subject));
    expect_end(&subject, 3).await;
}

/// The write of an end to the backup may be late. By then the visitor may have entered and left again.
pub(crate) async fn a_late_acknowledgement_keeps_the_next_end(mut subject: Subject) {
    subject.open(three_a_second()).await;
    subject.enter(visitor(1)).await;
    let first = subject.leave(visitor(1), LeaveReason::Leave).await;
    subject.enter(visitor(1)).await;
    let second = subject.leave(visitor(1), LeaveReason::Leave).await;
    for (late, unsettled) in [(&first, vec![second]), (&second, vec![])] {
        let end = late.visit_end().expect("an end");
        subject
            .line
            .acknowledge(&subject.queue, &[], &[end])
            .await
            .expect("acknowledge");
        assert_eq!(subject.unsettled_ends().await, unsettled);
    }
    // The end of a third visit is unsettled, although that of the second one was settled.
    subject.enter(visitor(1)).await;
    let third = subject.leave(visitor(1), LeaveReason::Leave).await;
    assert_eq!(subject.unsettled_ends().await, [third]);
    assert_eq!(subject.view().await.unsettled_ends, 1);
}
