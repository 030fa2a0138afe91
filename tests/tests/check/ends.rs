//! Entries that ended.

use vestibule_domain::{
    change::{Change, EndReason, Event, Version},
    fact::Fact,
    score::WaitScore,
    state::EntryState,
};
use vestibule_tests::{entries::now_ms, lines::visitor};

use crate::scene::Scene;

pub(crate) async fn unwritten_end_is_written(scene: Scene) {
    scene.enter_all(1..=4).await;
    scene.end_without_backup(1).await;
    scene.end_without_backup(4).await;
    // The function wrote this end and was killed before it told the line.
    let unacknowledged = scene.end_without_backup(3).await;
    scene.write_to_backup_only(&unacknowledged).await;
    // Visitor 5 entered and left, and no change was written.
    scene.enter_without_backup(5).await;
    scene.end_without_backup(5).await;
    assert_eq!(scene.view().await.unsettled_ends, 4);
    let checked = scene.check().await;
    assert_eq!(
        (checked.ended, checked.repaired_count(), checked.skipped),
        (4, 4, 0)
    );
    assert_eq!(scene.state_in_backup(1).await, Some(EntryState::Completed));
    for number in [3, 4, 5] {
        assert_eq!(scene.state_in_backup(number).await, Some(EntryState::Left));
        scene.expect_ended(number, EndReason::Left).await;
    }
    assert_eq!(scene.view().await.unsettled_ends, 0);
    scene.assert_consistent().await;
}

pub(crate) async fn unwritten_end_is_settled_by_the_next_visit(scene: Scene) {
    scene.enter_all(1..=4).await;
    scene.end_without_backup(3).await;
    scene.enter_without_backup(3).await;
    let place = scene.score(3).await;
    let checked = scene.check().await;
    assert_eq!(
        (checked.ended, checked.rewritten, checked.repaired_count()),
        (1, 1, 2)
    );
    assert_eq!(scene.score(3).await, place, "the new visit keeps its place");
    let record = scene.record(3).await.expect("a record");
    assert_eq!((record.state, record.score), (EntryState::Waiting, Some(place)));
    scene.assert_consistent().await;
}

pub(crate) async fn entry_that_ended_in_the_backup_is_removed(scene: Scene) {
    scene.enter_all(1..=5).await;
    for (number, how) in [(1, EndReason::Completed), (3, EndReason::Left)] {
        let fact = Fact::ended(scene.record(number).await.expect("a record").visit());
        scene.write_lost_event(number, Event::Ended { fact, how }).await;
    }
    // Visitor 4 left, entered again and left again. The line knows none of this.
    let first_visit = scene.score(4).await.visit();
    let later_place = WaitScore::next(first_visit.number() + 5_000 * 256, now_ms());
    scene
        .write_lost_event(
            4,
            Event::Ended {
                fact: Fact::ended(first_visit),
                how: EndReason::Left,
            },
        )
        .await;
    let entered_again = scene
        .write_lost_event(
            4,
            Event::Entered {
                place: later_place,
                after: Some(first_visit),
            },
        )
        .await;
    let end = Change {
        id: visitor(4),
        version: Version {
            v: entered_again.v + 1,
            ..entered_again
        },
        at_ms: now_ms(),
        event: Event::Ended {
            fact: Fact::ended(later_place.visit()),
            how: EndReason::Left,
        },
        source: None,
    };
    scene.write_to_backup_only(&end).await;

    let checked = scene.check().await;
    assert_eq!(
        (checked.removed, checked.repaired_count(), checked.skipped),
        (3, 3, 0)
    );
    for (number, how) in [
        (1, EndReason::Completed),
        (3, EndReason::Left),
        (4, EndReason::Left),
    ] {
        scene.expect_ended(number, how).await;
        assert_eq!(scene.state_in_backup(number).await, Some(how.state()));
    }
    // The order of the queue goes on after the visit that the line did not know.
    scene.enter_without_backup(4).await;
    assert!(scene.score(4).await > later_place);
    scene.end_without_backup(4).await;
    assert_eq!(scene.check().await.ended, 1);
    assert_eq!(scene.positions([5]).await, [1], "visitor 5 is first in line");
    assert_eq!(scene.view().await.active, 1, "one slot is free again");
    scene.assert_consistent().await;
}

pub(crate) async fn place_taken_after_a_written_end_stays(scene: Scene) {
    scene.enter_all(1..=4).await;
    let end = scene.end_without_backup(3).await;
    scene.write_through(&end).await;
    scene.enter_without_backup(3).await;
    let place = scene.score(3).await;
    let checked = scene.check().await;
    assert_eq!(
        (checked.written, checked.repaired_count(), checked.skipped),
        (1, 1, 0)
    );
    assert_eq!(scene.score(3).await, place);
    scene.assert_consistent().await;
}

pub(crate) async fn session_past_its_end_is_ended(scene: Scene) {
    scene.enter_all(1..=4).await;
    let session_end_ms = now_ms() - 5_000;
    // The line lost the claim of visitor 3 and the whole entry of visitor 8.
    for (number, visit) in [
        (3, scene.score(3).await.visit()),
        (8, WaitScore::next(0, now_ms() - 90_000).visit()),
    ] {
        let event = Event::Claimed {
            visit,
            session_end_ms,
        };
        scene.write_lost_event(number, event).await;
    }
    let checked = scene.check().await;
    assert_eq!(
        (checked.ended + checked.removed, checked.repaired_count()),
        (2, 2)
    );
    for number in [3, 8] {
        assert_eq!(scene.state_in_backup(number).await, Some(EntryState::Expired));
        scene.expect_ended(number, EndReason::Expired).await;
    }
    scene.assert_consistent().await;
}
