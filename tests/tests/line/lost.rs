//! A queue between its loss and the day that it is put back: nobody can use it, and what only the line knew is kept.

use vestibule_line::{Configuration, ConfigureOutcome, LeaveReason, LineError, NotFound, RestoredEntries};
use vestibule_tests::lines::{Subject, visitor};

use crate::{restore::of_epoch, settings::three_at_a_time};

pub(crate) async fn a_queue_that_was_dropped_is_unknown_until_it_is_put_back(mut subject: Subject) {
    subject.open(three_at_a_time()).await;
    subject.line_up([1, 2]).await;
    let line = &subject.line;
    assert!(
        !line.drop_queue(&subject.queue, 1).await.expect("forget"),
        "of its own epoch"
    );
    assert_eq!(subject.view().await.waiting, 2);
    assert!(line.drop_queue(&subject.queue, 3).await.expect("forget"));
    for outcome in [
        line.queue_view(&subject.queue).await.map(drop),
        line.enter(&subject.queue, visitor(3)).await.map(drop),
        line.status(&subject.queue, visitor(1)).await.map(drop),
        line.due_journal_records(&subject.queue, 1).await.map(drop),
        line.raise_watermark(&subject.queue, 1, 0).await.map(drop),
        line.configure(&subject.queue, &of_epoch(&subject, 1), false)
            .await
            .map(drop),
        // Whoever was to create it has slept until now.
        line.configure(&subject.queue, &of_epoch(&subject, 1), true)
            .await
            .map(drop),
    ] {
        assert!(matches!(outcome, Err(LineError::QueueNotFound)), "{outcome:?}");
    }

    // Of those who mean to put it back, the one with the latest epoch does, whoever comes first.
    let restore = async |epoch| {
        let configuration = of_epoch(&subject, epoch);
        let restored = line.restore(&subject.queue, &configuration, 0, RestoredEntries::default());
        restored.await.expect("restore")
    };
    assert!(!line.drop_queue(&subject.queue, 2).await.expect("forget"));
    assert_eq!(restore(2).await, ConfigureOutcome::Superseded);
    assert!(line.drop_queue(&subject.queue, 3).await.expect("said again"));
    assert_eq!(restore(3).await, ConfigureOutcome::Created);
    assert_eq!(restore(2).await, ConfigureOutcome::Superseded);
    assert_eq!(subject.view().await.version.epoch, 3);
}

pub(crate) async fn what_is_not_in_the_backup_outlives_the_queue(mut subject: Subject) {
    subject.open(three_at_a_time()).await;
    subject.line_up(1..=5).await;
    assert!(
        matches!(
            subject.line.unflushed(&subject.queue, 9).await,
            Err(LineError::QueueNotFound)
        ),
        "it is not lost"
    );
    let left = subject.leave(visitor(5), LeaveReason::Leave).await;
    subject.tick().await;
    let journal = subject.journal().await;
    assert_eq!(journal.len(), 1);
    assert!(subject.line.drop_queue(&subject.queue, 2).await.expect("forget"));

    let remains = subject.line.unflushed(&subject.queue, 9).await.expect("remains");
    assert_eq!(
        (remains.generation, &remains.records, &remains.ends),
        (Some(1), &journal, &vec![left])
    );
    // Not taken away, it is there also after the queue was put back.
    let configuration = of_epoch(&subject, 2);
    let put_back = subject
        .line
        .restore(&subject.queue, &configuration, 0, RestoredEntries::default());
    assert_eq!(put_back.await.expect("restore"), ConfigureOutcome::Created);
    assert_eq!(subject.journal().await, journal);
    assert_eq!(
        subject.expect_not_found(visitor(5)).await,
        NotFound::RecentlyEnded
    );

    // Taken away, it is gone.
    assert!(subject.line.drop_queue(&subject.queue, 3).await.expect("forget"));
    let key = journal[0].key.clone();
    let ending = left.visit_end().expect("an end");
    let settled = subject.line.acknowledge(&subject.queue, &[key], &[ending]).await;
    settled.expect("settle");
    let remains = subject.line.unflushed(&subject.queue, 9).await.expect("remains");
    assert_eq!((remains.records, remains.ends), (vec![], vec![]));
}

pub(crate) async fn nothing_of_a_generation_outlives_it(mut subject: Subject) {
    subject.open(three_at_a_time()).await;
    subject.line_up(1..=5).await;
    subject.leave(visitor(5), LeaveReason::Leave).await;
    subject.tick().await;
    let reset = Configuration {
        generation: 2,
        min_epoch: 2,
        ..of_epoch(&subject, 2)
    };
    let put_back = subject
        .line
        .restore(&subject.queue, &reset, 0, RestoredEntries::default());
    assert_eq!(put_back.await.expect("restore"), ConfigureOutcome::Created);
    let view = subject.view().await;
    assert_eq!(
        (view.waiting, view.ready, view.unsettled_ends, view.journal_len),
        (0, 0, 0, 0)
    );
    assert_eq!(view.configuration, reset);
    assert_eq!(subject.expect_not_found(visitor(5)).await, NotFound::Unknown);
}
