//! Entries that wait or are active.

use std::collections::BTreeMap;

use vestibule_domain::{
    change::{Change, Event, Version},
    entry_status::EntryStatus,
    fact::Turn,
    score::WaitScore,
    state::EntryState,
};
use vestibule_engine::check::CheckSummary;
use vestibule_line::{ClaimOutcome, EntryLookup, ExtendOutcome, NotFound, SessionExtension};
use vestibule_tests::{entries::now_ms, lines::visitor};

use crate::scene::Scene;

/// The summary of a check that finds no difference in this many entries of the line and of the table.
fn clean_summary(checked_line: u64, checked_table: u64) -> CheckSummary {
    CheckSummary {
        checked_line,
        checked_table,
        ..CheckSummary::default()
    }
}

pub(crate) async fn consistent_queue_is_not_changed(scene: Scene) {
    scene.enter_all(1..=6).await;
    let end = scene.end_without_backup(6).await;
    scene.write_through(&end).await;
    let (before, version) = (scene.record(3).await, scene.view().await.version);
    assert_eq!(scene.check().await, clean_summary(5, 5));
    assert_eq!(
        (scene.record(3).await, scene.view().await.version),
        (before, version)
    );
}

pub(crate) async fn unwritten_place_is_written(scene: Scene) {
    scene.enter_all([1, 3]).await;
    for number in [4, 5, 6] {
        scene.enter_without_backup(number).await;
    }
    let before = scene.positions([4, 5, 6]).await;
    let checked = scene.check().await;
    assert_eq!(
        checked,
        CheckSummary {
            written: 3,
            ..clean_summary(5, 2)
        }
    );
    for number in [4, 5, 6] {
        let record = scene.record(number).await.expect("written");
        assert_eq!(
            (record.state, record.score),
            (EntryState::Waiting, Some(scene.score(number).await))
        );
    }
    assert_eq!(scene.positions([4, 5, 6]).await, before);
    scene.assert_consistent().await;
}

pub(crate) async fn unwritten_change_is_written(scene: Scene) {
    scene.enter_without_backup(1).await; // Visitor 1 takes the fast track.
    scene.enter_all([2, 3]).await;
    // Visitor 2 extends the session, and the backup does not receive it.
    let extension = SessionExtension {
        visit: None,
        seconds: 5_000,
        latest_end_ms: u64::MAX,
    };
    let extended = scene.line.extend(&scene.queue, visitor(2), extension).await;
    assert!(
        matches!(extended, Ok(ExtendOutcome::Active { .. })),
        "{extended:?}"
    );
    let checked = scene.check().await;
    assert_eq!(
        checked,
        CheckSummary {
            written: 1,
            rewritten: 1,
            ..clean_summary(3, 2)
        }
    );
    for number in [1, 2] {
        let EntryStatus::Active { session_end_ms, .. } = scene.status(number).await else {
            panic!("visitor {number} is not active")
        };
        let record = scene.record(number).await.expect("written");
        assert_eq!(
            (record.state, record.expires_at_ms),
            (EntryState::Active, Some(session_end_ms))
        );
    }
    assert!(
        scene.record(2).await.expect("a record").score.is_some(),
        "the other fields are kept"
    );
    scene.assert_consistent().await;
}

pub(crate) async fn journaled_change_is_no_difference(scene: Scene) {
    scene.enter_all(1..=4).await;
    for number in [1, 2] {
        let end = scene.end_without_backup(number).await;
        scene
            .line
            .append_to_journal(&scene.queue, &end)
            .await
            .expect("recorded");
    }
    let late = scene.enter_without_backup(5).await;
    scene
        .line
        .append_to_journal(&scene.queue, &late)
        .await
        .expect("recorded");
    assert_eq!(
        scene.check().await,
        clean_summary(3, 3),
        "the check flushes the journal first"
    );
    assert_eq!(scene.view().await.journal_len, 0);
    assert_eq!(scene.state_in_backup(1).await, Some(EntryState::Completed));
    scene.assert_consistent().await;
}

pub(crate) async fn refused_change_in_backoff_is_written(scene: Scene) {
    scene.enter_all(1..=4).await;
    let refused = scene.enter_without_backup(5).await;
    scene.requeue_as_refused(&refused).await;
    assert_eq!(
        scene.check().await,
        CheckSummary {
            written: 1,
            ..clean_summary(5, 4)
        }
    );
    let record = scene.record(5).await.expect("written");
    assert_eq!(record.fact, refused.fact());
    assert_eq!(scene.view().await.journal_len, 1, "the journal tries again later");
    scene.assert_consistent().await;
}

pub(crate) async fn lost_entry_is_restored_at_its_place(scene: Scene) {
    scene.enter_all([1, 2]).await;
    let base_ms = now_ms() - 60_000;
    let places: BTreeMap<_, _> = (3..=8)
        .map(|n| (n, WaitScore::next(0, base_ms + n * 10)))
        .collect();
    for (number, place) in &places {
        let (place, after) = (*place, None);
        scene
            .write_lost_event(*number, Event::Entered { place, after })
            .await;
    }
    scene.enter(9).await;
    assert_eq!(
        scene.positions([9]).await,
        [1],
        "the line lost the entries before visitor 9"
    );
    let checked = scene.check().await;
    assert_eq!(
        checked,
        CheckSummary {
            restored: 6,
            ..clean_summary(3, 9)
        }
    );
    assert_eq!(scene.positions(3..=9).await, [1, 2, 3, 4, 5, 6, 7]);
    for (number, place) in places {
        assert_eq!(scene.score(number).await, place);
    }
    scene.assert_consistent().await;
}

pub(crate) async fn lost_promotion_or_claim_is_adopted(scene: Scene) {
    scene.enter_all(1..=5).await;
    let session_end_ms = now_ms() + 900_000;
    let promoted = Event::Promoted {
        place: scene.score(3).await,
        turn: Turn::First,
        claim_by_ms: now_ms() + 60_000,
    };
    scene.write_lost_event(3, promoted).await;
    for (number, visit) in [
        (1, scene.record(1).await.expect("a record").visit()),
        (4, scene.score(4).await.visit()),
    ] {
        let event = Event::Claimed {
            visit,
            session_end_ms,
        };
        scene.write_lost_event(number, event).await;
    }
    let checked = scene.check().await;
    assert_eq!(
        checked,
        CheckSummary {
            adopted: 3,
            ..clean_summary(5, 5)
        }
    );
    assert_eq!(scene.status(3).await.state(), EntryState::Ready);
    assert!(matches!(
        scene.line.claim(&scene.queue, visitor(3)).await,
        Ok(ClaimOutcome::Active { .. })
    ));
    for number in [1, 4] {
        let status = scene.status(number).await;
        assert!(
            matches!(status, EntryStatus::Active { session_end_ms: end_ms, .. } if end_ms == session_end_ms),
            "{status:?}"
        );
    }
    assert_eq!(scene.positions([5]).await, [1]);
    // The claim of visitor 3 is not in the backup yet.
    assert_eq!(scene.check().await.rewritten, 1);
    scene.assert_consistent().await;
}

pub(crate) async fn stored_place_replaces_a_new_unwritten_one(scene: Scene) {
    scene.enter_all([1, 2]).await;
    let place = WaitScore::next(0, now_ms() - 60_000);
    scene
        .write_lost_event(7, Event::Entered { place, after: None })
        .await;
    scene.enter_all([3, 4]).await;
    // The failover lost visitor 7, who enters again. The function is killed before it reads the record.
    scene.enter_without_backup(7).await;
    assert_eq!(scene.positions([3, 4, 7]).await, [1, 2, 3]);
    let checked = scene.check().await;
    assert_eq!(
        checked,
        CheckSummary {
            restored: 1,
            ..clean_summary(5, 5)
        }
    );
    assert_eq!(scene.positions([7, 3, 4]).await, [1, 2, 3]);
    assert_eq!(scene.score(7).await, place);
    scene.assert_consistent().await;
}

pub(crate) async fn record_of_a_later_epoch_is_skipped(scene: Scene) {
    scene.enter_all(1..=3).await;
    let event = Event::Entered {
        place: WaitScore::next(0, now_ms() + 60_000),
        after: Some(scene.score(3).await.visit()),
    };
    for number in [3, 4] {
        let change = Change {
            id: visitor(number),
            version: Version { epoch: 2, v: 1 },
            at_ms: now_ms(),
            event,
            source: None,
        };
        scene.write_to_backup_only(&change).await;
    }
    let before = (scene.record(3).await, scene.record(4).await, scene.score(3).await);
    let checked = scene.check().await;
    assert_eq!(
        checked,
        CheckSummary {
            skipped: 2,
            ..clean_summary(3, 4)
        },
        "a restore is about to replace this line"
    );
    assert_eq!(
        (scene.record(3).await, scene.record(4).await, scene.score(3).await),
        before
    );
    assert!(
        matches!(
            scene.lookup(4).await,
            EntryLookup::NotFound(NotFound::Unknown { .. })
        ),
        "the line does not have the entry"
    );
}
