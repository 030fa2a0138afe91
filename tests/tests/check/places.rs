//! Who stands where.

use std::collections::BTreeMap;

use vestibule_domain::{
    change::{Change, Event, Version},
    entry_status::EntryStatus,
    score::WaitScore,
    state::EntryState,
};
use vestibule_engine::check::CheckSummary;
use vestibule_line::{ClaimOutcome, EntryLookup, ExtendOutcome, NotFound, SessionExtension};
use vestibule_tests::{entries::now_ms, lines::visitor};

use crate::scene::Scene;

/// What a check says that went through so many in line and so many in the table.
fn went_through(checked_line: u64, checked_table: u64) -> CheckSummary {
    CheckSummary {
        checked_line,
        checked_table,
        ..CheckSummary::default()
    }
}

pub(crate) async fn a_queue_that_agrees_is_left_alone(scene: Scene) {
    scene.enter_all(1..=6).await;
    let end = scene.leave_without_backup(6).await;
    scene.write_through(&end).await;
    let (before, version) = (scene.record(3).await, scene.view().await.version);
    assert_eq!(scene.check().await, went_through(5, 5));
    assert_eq!(
        (scene.record(3).await, scene.view().await.version),
        (before, version)
    );
}

pub(crate) async fn a_place_that_nobody_wrote_is_written(scene: Scene) {
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
            ..went_through(5, 2)
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
    scene.agrees().await;
}

pub(crate) async fn what_changed_and_was_not_written_is_written_anew(scene: Scene) {
    scene.enter_without_backup(1).await; // On the fast track.
    scene.enter_all([2, 3]).await;
    // 2 asks for more time; the backup never hears of it.
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
            ..went_through(3, 2)
        }
    );
    for number in [1, 2] {
        let EntryStatus::Active { session_end_ms, .. } = scene.standing(number).await else {
            panic!("{number} is active")
        };
        let record = scene.record(number).await.expect("written");
        assert_eq!(
            (record.state, record.expires_at_ms),
            (EntryState::Active, Some(session_end_ms))
        );
    }
    assert!(
        scene.record(2).await.expect("a record").score.is_some(),
        "the rest is kept"
    );
    scene.agrees().await;
}

pub(crate) async fn what_is_in_the_journal_is_no_difference(scene: Scene) {
    scene.enter_all(1..=4).await;
    for number in [1, 2] {
        let end = scene.leave_without_backup(number).await;
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
        went_through(3, 3),
        "it goes to the backup first"
    );
    assert_eq!(scene.view().await.journal_len, 0);
    assert_eq!(scene.state_in_backup(1).await, Some(EntryState::Completed));
    scene.agrees().await;
}

pub(crate) async fn what_is_to_be_tried_later_is_no_difference(scene: Scene) {
    scene.enter_all(1..=4).await;
    let refused = scene.enter_without_backup(5).await;
    scene.refuse(&refused).await;
    assert_eq!(
        scene.check().await,
        CheckSummary {
            skipped: 1,
            ..went_through(5, 4)
        },
        "it has its own turn"
    );
    assert_eq!(scene.record(5).await, None);
    assert_eq!(scene.look(5).await, EntryLookup::Found(scene.standing(5).await));
}

pub(crate) async fn a_lost_place_goes_back_where_it_was(scene: Scene) {
    scene.enter_all([1, 2]).await;
    let base_ms = now_ms() - 60_000;
    let places: BTreeMap<_, _> = (3..=8)
        .map(|n| (n, WaitScore::next(0, base_ms + n * 10)))
        .collect();
    for (number, score) in &places {
        scene
            .only_the_backup_knows(*number, Event::Entered { score: *score })
            .await;
    }
    scene.enter(9).await;
    assert_eq!(scene.positions([9]).await, [1], "those before were lost");
    let checked = scene.check().await;
    assert_eq!(
        checked,
        CheckSummary {
            restored: 6,
            ..went_through(3, 9)
        }
    );
    assert_eq!(scene.positions(3..=9).await, [1, 2, 3, 4, 5, 6, 7]);
    for (number, score) in places {
        assert_eq!(scene.score(number).await, score);
    }
    scene.agrees().await;
}

pub(crate) async fn a_lost_promotion_or_claim_is_taken_over(scene: Scene) {
    scene.enter_all(1..=5).await;
    let session_end_ms = now_ms() + 900_000;
    let score = scene.score(3).await;
    let claim_by_ms = now_ms() + 60_000;
    scene
        .only_the_backup_knows(3, Event::Promoted { score, claim_by_ms })
        .await;
    for (number, visit) in [
        (1, scene.record(1).await.expect("a record").visit),
        (4, scene.score(4).await.visit()),
    ] {
        let event = Event::Claimed {
            visit,
            session_end_ms,
        };
        scene.only_the_backup_knows(number, event).await;
    }
    let checked = scene.check().await;
    assert_eq!(
        checked,
        CheckSummary {
            adopted: 3,
            ..went_through(5, 5)
        }
    );
    assert_eq!(scene.standing(3).await.state(), EntryState::Ready);
    assert!(matches!(
        scene.line.claim(&scene.queue, visitor(3)).await,
        Ok(ClaimOutcome::Active { .. })
    ));
    for number in [1, 4] {
        let standing = scene.standing(number).await;
        assert!(
            matches!(standing, EntryStatus::Active { session_end_ms: end_ms, .. } if end_ms == session_end_ms),
            "{standing:?}"
        );
    }
    assert_eq!(scene.positions([5]).await, [1]);
    // The claim of 3 was not written.
    assert_eq!(scene.check().await.rewritten, 1);
    scene.agrees().await;
}

pub(crate) async fn the_place_that_somebody_was_told_of_replaces_a_new_one(scene: Scene) {
    scene.enter_all([1, 2]).await;
    let score = WaitScore::next(0, now_ms() - 60_000);
    scene.only_the_backup_knows(7, Event::Entered { score }).await;
    scene.enter_all([3, 4]).await;
    // The failover forgot 7, who enters again; the function is killed before it could find out.
    scene.enter_without_backup(7).await;
    assert_eq!(scene.positions([3, 4, 7]).await, [1, 2, 3]);
    let checked = scene.check().await;
    assert_eq!(
        checked,
        CheckSummary {
            restored: 1,
            ..went_through(5, 5)
        }
    );
    assert_eq!(scene.positions([7, 3, 4]).await, [1, 2, 3]);
    assert_eq!(scene.score(7).await, score);
    scene.agrees().await;
}

pub(crate) async fn a_record_of_a_later_epoch_is_left_alone(scene: Scene) {
    scene.enter_all(1..=3).await;
    let event = Event::Entered {
        score: WaitScore::next(0, now_ms() + 60_000),
    };
    for number in [3, 4] {
        let change = Change {
            id: visitor(number),
            version: Version { epoch: 2, v: 1 },
            at_ms: now_ms(),
            event,
        };
        scene.write_alone(&change).await;
    }
    let before = (scene.record(3).await, scene.record(4).await, scene.score(3).await);
    let checked = scene.check().await;
    assert_eq!(
        checked,
        CheckSummary {
            skipped: 2,
            ..went_through(3, 4)
        },
        "this line is about to be replaced"
    );
    assert_eq!(
        (scene.record(3).await, scene.record(4).await, scene.score(3).await),
        before
    );
    assert_eq!(scene.look(4).await, EntryLookup::NotFound(NotFound::Unknown));
}
