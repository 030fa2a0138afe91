//! What a queue takes over from an earlier epoch, and from a clock that was wrong then.

use std::time::Duration;

use vestibule_domain::score::WaitScore;
use vestibule_line::{ConfigureOutcome, LeaveReason, RestoredEntries, RestoredSession};
use vestibule_tests::lines::{Subject, visitor};

use crate::{
    missing::unknown,
    restore::{configuration_of_epoch, restored_entries},
    settings::three_a_second,
};

pub(crate) async fn a_restore_does_not_replace_the_same_or_a_later_epoch(mut subject: Subject) {
    subject.open(three_a_second()).await;
    subject.line_up([1, 2]).await;
    let mut changes = Vec::new();
    let other = subject.open_sibling(three_a_second()).await;
    for number in 5..=9 {
        changes.extend(other.enter(visitor(number)).await.change);
    }
    let restore = async |epoch| {
        let configuration = configuration_of_epoch(&subject, epoch);
        let restored = subject
            .line
            .restore(&subject.queue, &configuration, 0, restored_entries(&changes));
        restored.await.expect("restore")
    };
    let view = subject.view().await;
    assert_eq!(restore(1).await, ConfigureOutcome::Unchanged);
    assert_eq!(restore(0).await, ConfigureOutcome::Superseded);
    assert_eq!(subject.view().await, view);
    assert_eq!(subject.expect_not_found(visitor(9)).await, unknown(&subject));
    assert_eq!(subject.position(visitor(2)).await, 2);

    // A later epoch replaces the queue.
    assert_eq!(restore(7).await, ConfigureOutcome::Created);
    assert_eq!(subject.expect_not_found(visitor(2)).await, unknown(&subject));
    assert_eq!(subject.view().await.active, 3);
    assert_eq!(subject.position(visitor(9)).await, 2);
}

/// The clock of the line was ahead while a visitor entered and left. The restored line has the correct time, so its
/// versions and visits begin at lower numbers than those of the earlier epoch had reached.
pub(crate) async fn an_end_of_an_earlier_epoch_settles_by_its_fact(mut subject: Subject) {
    subject.open(three_a_second()).await;
    let entered = subject.enter(visitor(1)).await.change.expect("new");
    let first = subject.leave(visitor(1), LeaveReason::Leave).await;
    subject.clock.set_back(Duration::from_mins(1));
    assert!(
        subject
            .line
            .drop_queue(&subject.queue, 2)
            .await
            .expect("drop_queue")
    );
    let configuration = configuration_of_epoch(&subject, 2);
    let places = RestoredEntries {
        last_order: entered.event.visit().number(),
        ..RestoredEntries::default()
    };
    let restored = subject
        .line
        .restore(&subject.queue, &configuration, 0, places)
        .await;
    assert_eq!(restored.expect("restore"), ConfigureOutcome::Created);
    let version = subject.view().await.version;
    assert!(version.v < first.version.v, "{version:?}");

    subject.enter(visitor(1)).await;
    let second = subject.leave(visitor(1), LeaveReason::Leave).await;
    assert!(second.fact() > first.fact());
    for (end, unsettled) in [(first, vec![second]), (second, vec![])] {
        let end = end.visit_end().expect("an end");
        let settled = subject.line.acknowledge(&subject.queue, &[], &[end]).await;
        settled.expect("acknowledge");
        assert_eq!(subject.unsettled_ends().await, unsettled);
    }
}

/// A visit that began a little later than the clocks show is restored with its place. One that is more than a minute ahead is
/// not: every later visitor would stand behind it, with a join time in the future.
pub(crate) async fn a_record_from_the_future_is_not_restored(subject: Subject) {
    let now_ms = subject.clock.now_ms();
    let place_at = |ms| WaitScore::next(0, ms);
    let mut rebuilt = subject.sibling();
    rebuilt.settings = three_a_second();
    let places = RestoredEntries {
        waiting: vec![
            (place_at(now_ms), visitor(1)),
            (place_at(now_ms + 60_000), visitor(2)),
            (place_at(now_ms + 60_001), visitor(3)),
        ],
        active: vec![(
            RestoredSession {
                visit: place_at(now_ms + 3_600_000).visit(),
                end_ms: now_ms + 300_000,
                began_at_ms: None,
            },
            visitor(4),
        )],
        last_order: place_at(now_ms + 3_600_000).order(),
        ..RestoredEntries::default()
    };
    let configuration = configuration_of_epoch(&rebuilt, 2);
    let restored = rebuilt
        .line
        .restore(&rebuilt.queue, &configuration, 0, places)
        .await;
    assert_eq!(restored.expect("restore"), ConfigureOutcome::Created);
    let view = rebuilt.view().await;
    assert_eq!((view.waiting, view.active, view.now_ms), (2, 0, now_ms));
    let entered = rebuilt.enter(visitor(5)).await.change.expect("a new place");
    let joined_at_ms = entered.event.place().expect("a place").joined_at_ms();
    assert_eq!(joined_at_ms, now_ms + 60_000, "behind the last believed place");
    assert_eq!(rebuilt.position(visitor(5)).await, 3);
}
