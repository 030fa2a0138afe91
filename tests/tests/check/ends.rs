//! Who is gone.

use vestibule_domain::{
    change::{Change, EndReason, Event, Version},
    score::WaitScore,
    state::EntryState,
};
use vestibule_line::{EntryLookup, NotFound};
use vestibule_tests::{entries::now_ms, lines::visitor};

use crate::scene::Scene;

pub(crate) async fn an_end_that_nobody_wrote_is_written(scene: Scene) {
    scene.enter_all(1..=4).await;
    scene.leave_without_backup(1).await;
    scene.leave_without_backup(4).await;
    // CapturedOutput, and killed before the line was told.
    let told = scene.leave_without_backup(3).await;
    scene.write_alone(&told).await;
    // Came and went, and nothing of it was ever written.
    scene.enter_without_backup(5).await;
    scene.leave_without_backup(5).await;
    assert_eq!(scene.view().await.unsettled_ends, 4);
    let checked = scene.check().await;
    assert_eq!(
        (checked.ended, checked.repaired_count(), checked.skipped),
        (4, 4, 0)
    );
    assert_eq!(scene.state_in_backup(1).await, Some(EntryState::Completed));
    for number in [3, 4, 5] {
        assert_eq!(scene.state_in_backup(number).await, Some(EntryState::Left));
        assert_eq!(
            scene.look(number).await,
            EntryLookup::NotFound(NotFound::Unknown),
            "forgotten"
        );
    }
    scene.agrees().await;
}

pub(crate) async fn an_end_that_nobody_wrote_comes_before_the_next_visit(scene: Scene) {
    scene.enter_all(1..=4).await;
    scene.leave_without_backup(3).await;
    scene.enter_without_backup(3).await;
    let place = scene.score(3).await;
    let checked = scene.check().await;
    assert_eq!(
        (checked.ended, checked.written, checked.repaired_count()),
        (1, 1, 2)
    );
    assert_eq!(scene.score(3).await, place, "not the one that was given up");
    let record = scene.record(3).await.expect("a record");
    assert_eq!((record.state, record.score), (EntryState::Waiting, Some(place)));
    scene.agrees().await;
}

pub(crate) async fn a_place_whose_end_was_acknowledged_is_dropped(scene: Scene) {
    scene.enter_all(1..=5).await;
    for (number, how) in [(1, EndReason::Completed), (3, EndReason::Left)] {
        let visit = scene.record(number).await.expect("a record").visit;
        scene
            .only_the_backup_knows(number, Event::Ended { visit, how })
            .await;
    }
    // 4 left, came again as the line never knew, and left again.
    let later = WaitScore::next(scene.score(4).await.order() + 5_000 * 256, now_ms());
    scene
        .only_the_backup_knows(
            4,
            Event::Ended {
                visit: scene.score(4).await.visit(),
                how: EndReason::Left,
            },
        )
        .await;
    let again = scene
        .only_the_backup_knows(4, Event::Entered { score: later })
        .await;
    let end = Change {
        id: visitor(4),
        version: Version {
            v: again.v + 1,
            ..again
        },
        at_ms: now_ms(),
        event: Event::Ended {
            visit: later.visit(),
            how: EndReason::Left,
        },
    };
    scene.write_alone(&end).await;

    let checked = scene.check().await;
    assert_eq!(
        (checked.removed, checked.repaired_count(), checked.skipped),
        (3, 3, 0)
    );
    for (number, state) in [
        (1, EntryState::Completed),
        (3, EntryState::Left),
        (4, EntryState::Left),
    ] {
        assert_eq!(scene.look(number).await, EntryLookup::NotFound(NotFound::Unknown));
        assert_eq!(scene.state_in_backup(number).await, Some(state));
    }
    assert_eq!(
        scene.positions([5]).await,
        [1],
        "nobody stands before them any more"
    );
    assert_eq!(scene.view().await.active, 1, "the slot is free");
    scene.agrees().await;
}

pub(crate) async fn a_place_taken_after_an_end_stays(scene: Scene) {
    scene.enter_all(1..=4).await;
    let end = scene.leave_without_backup(3).await;
    scene.write_through(&end).await;
    scene.enter_without_backup(3).await;
    let place = scene.score(3).await;
    let checked = scene.check().await;
    assert_eq!(
        (checked.written, checked.repaired_count(), checked.skipped),
        (1, 1, 0)
    );
    assert_eq!(scene.score(3).await, place);
    scene.agrees().await;
}

/// Visits count modulo 4,096, and the backup refuses to take the new one for a while.
pub(crate) async fn a_new_visit_of_the_number_of_one_that_is_over_stays(scene: Scene) {
    let entered = scene.enter_without_backup(1).await;
    let before = Change {
        version: Version {
            v: entered.version.v - 1_000,
            ..entered.version
        },
        event: Event::Ended {
            visit: entered.event.visit(),
            how: EndReason::Left,
        },
        ..entered
    };
    scene.write_alone(&before).await;
    scene.refuse(&entered).await;
    let standing = scene.standing(1).await;
    let checked = scene.check().await;
    assert_eq!((checked.removed, checked.skipped), (0, 1), "{checked:?}");
    assert_eq!(
        scene.standing(1).await.visit(),
        standing.visit(),
        "they are still inside"
    );
}

pub(crate) async fn a_session_that_is_over_ends(scene: Scene) {
    scene.enter_all(1..=4).await;
    let session_end_ms = now_ms() - 5_000;
    // One whose claim was lost, and one who was lost altogether.
    for (number, visit) in [
        (3, scene.score(3).await.visit()),
        (8, WaitScore::next(0, now_ms() - 90_000).visit()),
    ] {
        let event = Event::Claimed {
            visit,
            session_end_ms,
        };
        scene.only_the_backup_knows(number, event).await;
    }
    let checked = scene.check().await;
    assert_eq!(
        (checked.ended + checked.removed, checked.repaired_count()),
        (2, 2)
    );
    for number in [3, 8] {
        assert_eq!(scene.state_in_backup(number).await, Some(EntryState::Expired));
        assert_eq!(scene.look(number).await, EntryLookup::NotFound(NotFound::Unknown));
    }
    scene.agrees().await;
}
