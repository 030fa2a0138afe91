//! What the line keeps for the backup: the journal, and ends.

use std::collections::HashMap;

use vestibule_domain::{
    change::{Change, EndReason, Event, Version},
    entry_status::EntryStatus,
    score::Visit,
    settings::Settings,
};
use vestibule_line::{ExtendOutcome, LeaveReason, NotFound, SessionExtension};
use vestibule_tests::lines::{Subject, visitor};

use crate::settings::three_at_a_time;

pub(crate) fn missed(visit: Visit) -> Event {
    let how = EndReason::NoShow;
    Event::Ended { visit, how }
}

fn expired(visit: Visit) -> Event {
    let how = EndReason::Expired;
    Event::Ended { visit, how }
}

pub(crate) async fn the_journal_has_promotions_and_expiries_in_order(mut subject: Subject) {
    subject.open(three_at_a_time()).await;
    assert!(subject.journal().await.is_empty());
    subject.line_up(1..=7).await;
    let mut scores = HashMap::new();
    for number in 1..=7 {
        if let EntryStatus::Waiting { score, .. } = subject.status(visitor(number)).await {
            scores.insert(number, score);
        }
    }
    let promoted = |number, claim_by_ms| Event::Promoted {
        score: scores[&number],
        claim_by_ms,
    };
    let first_ms = subject.clock.now_ms();
    subject.tick().await;
    let (_, claim) = subject.claim(visitor(1)).await;
    subject.tick().await; // Nothing to do: nothing to write.
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
        // The session of 1 and the turns of 2 to 6 are over; 7 has its turn.
        [(1, expired(scores[&1].visit()))]
            .into_iter()
            .chain((2..=6).map(|number| (number, missed(scores[&number].visit()))))
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
    // The order of versions is the order of what happened, with what callers write in between.
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

    // Whoever drains it takes the oldest first, and what is settled is gone.
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
        .expect("settle");
    assert_eq!(subject.journal().await, records[2..]);
    assert_eq!(subject.view().await.journal_len, 1);
    subject
        .line
        .acknowledge(&subject.queue, &keys, &[])
        .await
        .expect("again is harmless");
    subject.acknowledge_journal(&[]).await;
    assert!(subject.journal().await.is_empty());
}

pub(crate) async fn a_change_that_the_backup_did_not_take_is_recorded(mut subject: Subject) {
    subject
        .open(Settings {
            batch: 1,
            ..three_at_a_time()
        })
        .await;
    // One change of every kind.
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
    let left = subject.leave(visitor(1), LeaveReason::Evict).await;
    let timed_out = [missed, expired].map(|event| Change {
        event: event(fast.event.visit()),
        ..left
    });
    let [missed, expired] = timed_out;
    let changes = [
        fast, waiting, promoted, claimed, extended, completed, left, missed, expired,
    ];
    subject.acknowledge_journal(&[]).await;
    for change in &changes {
        subject
            .line
            .append_to_journal(&subject.queue, change)
            .await
            .expect("record");
    }
    let read: Vec<_> = subject
        .journal()
        .await
        .into_iter()
        .map(|record| record.changes)
        .collect();
    assert_eq!(read, changes.map(|change| vec![change]));
}

pub(crate) async fn an_end_is_remembered_until_it_is_settled(mut subject: Subject) {
    subject.open(three_at_a_time()).await;
    subject.line_up(1..=4).await;
    subject.tick().await;
    subject.claim(visitor(1)).await;
    subject.leave(visitor(1), LeaveReason::Complete).await;
    subject.leave(visitor(4), LeaveReason::Leave).await;
    subject.advance_seconds(60);
    for number in 1..=4 {
        assert_eq!(
            subject.expect_not_found(visitor(number)).await,
            NotFound::RecentlyEnded,
            "visitor {number}"
        );
    }
    assert_eq!(subject.tick().await.no_shows, 2);
    assert_eq!(subject.view().await.unsettled_ends, 4);
    subject.acknowledge_journal(&[visitor(1), visitor(2)]).await;
    for (number, missing) in [
        (1, NotFound::Unknown),
        (2, NotFound::Unknown),
        (3, NotFound::RecentlyEnded),
        (4, NotFound::RecentlyEnded),
        (5, NotFound::Unknown),
    ] {
        assert_eq!(
            subject.expect_not_found(visitor(number)).await,
            missing,
            "visitor {number}"
        );
    }
    assert_eq!(subject.view().await.unsettled_ends, 2);
}

/// The write of an end may be late: by then the visitor may have come and gone again.
pub(crate) async fn a_late_settlement_leaves_the_next_end_remembered(mut subject: Subject) {
    subject.open(three_at_a_time()).await;
    subject.enter(visitor(1)).await;
    let first = subject.leave(visitor(1), LeaveReason::Leave).await;
    subject.enter(visitor(1)).await;
    let second = subject.leave(visitor(1), LeaveReason::Leave).await;
    for (late, missing) in [(&first, NotFound::RecentlyEnded), (&second, NotFound::Unknown)] {
        let ending = late.visit_end().expect("an end");
        let remembered = subject
            .line
            .unsettled_end(&subject.queue, visitor(1))
            .await
            .expect("answered");
        assert_eq!(remembered, Some(second), "the last end, word for word");
        subject
            .line
            .acknowledge(&subject.queue, &[], &[ending])
            .await
            .expect("settle");
        assert_eq!(subject.expect_not_found(visitor(1)).await, missing);
    }
}
