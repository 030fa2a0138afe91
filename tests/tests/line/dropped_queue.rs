//! A queue between its drop and its restore. No call can use it, and the line keeps the changes that the backup
//! lacks.

use std::time::Duration;

use vestibule_domain::configuration::Configuration;
use vestibule_line::{Arrival, ConfigureOutcome, LeaveReason, LineError, RestoredEntries};
use vestibule_tests::lines::{Subject, visitor};

use crate::{
    missing::{expect_end, unknown},
    restore::{configuration_of_epoch, restore_empty},
    settings::{in_turn, three_a_second},
};

pub(crate) async fn a_dropped_queue_is_unknown_until_it_is_restored(mut subject: Subject) {
    subject.open(three_a_second()).await;
    subject.line_up([1, 2]).await;
    let line = &subject.line;
    assert!(
        !line.drop_queue(&subject.queue, 1).await.expect("drop_queue"),
        "a drop needs a later epoch"
    );
    assert_eq!(subject.view().await.waiting, 2);
    assert!(line.drop_queue(&subject.queue, 3).await.expect("drop_queue"));
    for outcome in [
        line.queue_view(&subject.queue).await.map(drop),
        line.enter(&subject.queue, visitor(3), Arrival::Ordinary)
            .await
            .map(drop),
        line.status(&subject.queue, visitor(1)).await.map(drop),
        line.due_journal_records(&subject.queue, 1).await.map(drop),
        line.raise_watermark(&subject.queue, 1, 0).await.map(drop),
        line.configure(&subject.queue, &configuration_of_epoch(&subject, 1), false)
            .await
            .map(drop),
        // A process that was to create the queue resumes only now.
        line.configure(&subject.queue, &configuration_of_epoch(&subject, 1), true)
            .await
            .map(drop),
    ] {
        assert!(matches!(outcome, Err(LineError::QueueNotFound)), "{outcome:?}");
    }

    // If several processes restore the queue, the one with the latest epoch succeeds, whatever their order.
    let restore = async |epoch| {
        let configuration = configuration_of_epoch(&subject, epoch);
        let restored = line.restore(&subject.queue, &configuration, 0, RestoredEntries::default());
        restored.await.expect("restore")
    };
    assert!(!line.drop_queue(&subject.queue, 2).await.expect("drop_queue"));
    assert_eq!(restore(2).await, ConfigureOutcome::Superseded);
    assert!(
        line.drop_queue(&subject.queue, 3)
            .await
            .expect("drop_queue is idempotent")
    );
    assert_eq!(restore(3).await, ConfigureOutcome::Created);
    assert_eq!(restore(2).await, ConfigureOutcome::Superseded);
    assert_eq!(subject.view().await.version.epoch, 3);
}

pub(crate) async fn unflushed_changes_outlive_the_dropped_queue(mut subject: Subject) {
    subject.open(three_a_second()).await;
    subject.line_up(1..=5).await;
    assert!(
        matches!(
            subject.line.unflushed(&subject.queue, 9).await,
            Err(LineError::QueueNotFound)
        ),
        "the queue was not dropped"
    );
    let left = subject.leave(visitor(5), LeaveReason::Leave).await;
    subject.tick().await;
    let journal = subject.journal().await;
    assert_eq!(journal.len(), 1);
    assert!(
        subject
            .line
            .drop_queue(&subject.queue, 2)
            .await
            .expect("drop_queue")
    );

    let unflushed = subject
        .line
        .unflushed(&subject.queue, 9)
        .await
        .expect("unflushed");
    assert_eq!(
        (unflushed.generation, &unflushed.records, &unflushed.ends),
        (Some(1), &journal, &vec![left])
    );
    // Changes that are not acknowledged survive the restore of the queue.
    restore_empty(&subject, &configuration_of_epoch(&subject, 2), 0).await;
    assert_eq!(subject.journal().await, journal);
    assert_eq!(expect_end(&subject, 5).await, left);

    // Acknowledged changes are removed.
    assert!(
        subject
            .line
            .drop_queue(&subject.queue, 3)
            .await
            .expect("drop_queue")
    );
    let key = journal[0].key.clone();
    let ending = left.visit_end().expect("an end");
    let acknowledged = subject.line.acknowledge(&subject.queue, &[key], &[ending]).await;
    acknowledged.expect("acknowledge");
    let unflushed = subject
        .line
        .unflushed(&subject.queue, 9)
        .await
        .expect("unflushed");
    assert_eq!((unflushed.records, unflushed.ends), (vec![], vec![]));
}

pub(crate) async fn a_reset_keeps_nothing_of_the_old_generation(mut subject: Subject) {
    subject.open(three_a_second()).await;
    subject.line_up(1..=5).await;
    subject.leave(visitor(5), LeaveReason::Leave).await;
    subject.tick().await;
    let reset = Configuration {
        generation: 2,
        min_epoch: 2,
        ..configuration_of_epoch(&subject, 2)
    };
    restore_empty(&subject, &reset, 0).await;
    let view = subject.view().await;
    assert_eq!(
        (view.waiting, view.ready, view.unsettled_ends, view.journal_len),
        (0, 0, 0, 0)
    );
    assert_eq!(view.configuration, reset);
    assert_eq!(subject.expect_not_found(visitor(5)).await, unknown(&subject));
}

/// The line keeps the end of a visit that the backup does not have.
pub(crate) async fn a_visit_after_a_restore_is_later_by_any_clock(mut subject: Subject) {
    subject.open(in_turn(three_a_second())).await;
    for (epoch, drops) in [(2, true), (3, false)] {
        subject.enter(visitor(1)).await;
        let left = subject.leave(visitor(1), LeaveReason::Leave).await;
        subject.clock.set_back(Duration::from_hours(1));
        if drops {
            let dropped = subject.line.drop_queue(&subject.queue, epoch).await;
            assert!(dropped.expect("drop_queue"));
        }
        let configuration = configuration_of_epoch(&subject, epoch);
        let restored = subject
            .line
            .restore(&subject.queue, &configuration, 0, RestoredEntries::default());
        assert_eq!(restored.await.expect("restore"), ConfigureOutcome::Created);
        subject.enter(visitor(1)).await;
        let place = subject.place(visitor(1)).await;
        assert!(place.visit() > left.fact().visit, "{place:?} after {left:?}");
    }
}
