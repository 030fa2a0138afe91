//! The path of a change from the line to the backup, and from the backup back into a line.

use std::{
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use vestibule_backup::{Backup, QueueMetadata, SettingsRevision, StoredQueue};
use vestibule_domain::{configuration::Configuration, entry_status::EntryStatus, state::EntryState};
use vestibule_engine::{
    flush::{FlushOutcome, flush_journal},
    restore::{RestoreError, RestoreSummary, restore_queue},
    write_through::{WRITE_DEADLINE, WriteOutcome, write_through},
};
use vestibule_line::{EntryLookup, Line};
use vestibule_tests::entries::write_all;

use crate::file_scene::{FileScene, far_deadline, unavailable_backup};

#[tokio::test]
async fn change_is_in_the_backup_before_it_is_acknowledged() {
    let scene = FileScene::new().await;
    let entered = scene.enter_without_backup().await;
    let write = scene.write_through(&entered).await;
    let record = scene
        .backup
        .read_entry(&scene.partition, entered.id)
        .await
        .expect("an answer");
    assert!(record.is_some());
    let expected = WriteOutcome {
        durable: true,
        is_superseded: false,
        record,
    };
    assert_eq!(write, expected);
    let again = scene.write_through(&entered).await;
    assert_eq!(again, expected, "a repeated write changes nothing");
    assert_eq!(scene.unsettled_counts().await, (0, 0));
}

#[tokio::test]
async fn end_is_settled_once_the_backup_has_it() {
    let scene = FileScene::new().await;
    let entered = scene.enter_without_backup().await;
    scene.write_through(&entered).await;
    let left = scene.end_without_backup(entered.id).await;
    assert_eq!(scene.unsettled_counts().await, (0, 1));
    assert!(scene.write_through(&left).await.durable);
    assert_eq!(scene.unsettled_counts().await, (0, 0));
    assert_eq!(scene.stored_state(entered.id).await, Some(EntryState::Completed));
}

#[tokio::test]
async fn change_is_journaled_while_the_backup_is_unavailable() {
    let scene = FileScene::new().await;
    let entered = scene.enter_without_backup().await;
    let since = Instant::now();
    let write = write_through(
        &scene.line,
        &unavailable_backup().await,
        &scene.partition,
        &entered,
    )
    .await;
    assert_eq!(
        write.expect("an answer"),
        WriteOutcome {
            durable: false,
            is_superseded: false,
            record: None
        }
    );
    assert!(
        since.elapsed() < WRITE_DEADLINE + Duration::from_secs(10),
        "{:?}",
        since.elapsed()
    );
    let journal = scene
        .line
        .due_journal_records(&scene.queue, 10)
        .await
        .expect("an answer");
    let changes: Vec<_> = journal.into_iter().flat_map(|record| record.changes).collect();
    assert_eq!(changes, std::slice::from_ref(&entered));

    // The backup is available again, and a flush writes the change.
    flush_journal(&scene.line, &scene.backup, &scene.partition, 10, far_deadline())
        .await
        .expect("flushed");
    assert_eq!(scene.stored_state(entered.id).await, Some(EntryState::Active));
}

#[tokio::test]
async fn flush_writes_the_journal_in_order_and_once() {
    let scene = FileScene::new().await;
    let (mut active, mut waiting) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        active.push(scene.enter_without_backup().await.id);
    }
    for _ in 0..6 {
        waiting.push(scene.enter_without_backup().await.id);
    }
    let mut left = Vec::new();
    for id in active.drain(..3) {
        left.push(scene.end_without_backup(id).await);
    }
    scene.pass_seconds(20);
    assert_eq!(
        scene.promote().await,
        3,
        "the entries that left freed three slots"
    );
    for change in &left {
        // Record the ends in the journal, as if the backup had been unavailable for a moment.
        scene
            .line
            .append_to_journal(&scene.queue, change)
            .await
            .expect("recorded");
    }
    scene.pass_seconds(70);
    assert_eq!(scene.promote().await, 3, "three no-shows freed three slots");
    let (records, ended) = scene.unsettled_counts().await;
    assert_eq!(ended, 3 + 3);

    let one = flush_journal(&scene.line, &scene.backup, &scene.partition, 1, far_deadline())
        .await
        .expect("flushed");
    assert_eq!(
        one,
        FlushOutcome {
            records: 1,
            changes: 3,
            ..FlushOutcome::default()
        }
    );
    assert_eq!(
        scene.stored_state(waiting[0]).await,
        Some(EntryState::Ready),
        "the flush begins with the oldest record"
    );
    assert_eq!(scene.stored_state(left[0].id).await, None);

    // Two flushes run at once, and every change of the journal is written once more.
    let journal = scene
        .line
        .due_journal_records(&scene.queue, 100)
        .await
        .expect("an answer");
    let (a, b) = tokio::join!(
        flush_journal(&scene.line, &scene.backup, &scene.partition, 100, far_deadline()),
        flush_journal(&scene.line, &scene.backup, &scene.partition, 100, far_deadline())
    );
    a.expect("flushed");
    b.expect("flushed");
    for record in journal {
        write_all(&scene.backup, &scene.partition, &record.changes).await;
    }
    assert!(records > 1);
    assert_eq!(scene.unsettled_counts().await, (0, 0));
    for id in &waiting[..3] {
        assert_eq!(scene.stored_state(*id).await, Some(EntryState::Expired));
    }
    for id in &waiting[3..] {
        assert_eq!(scene.stored_state(*id).await, Some(EntryState::Ready));
    }
    for change in left {
        assert_eq!(scene.stored_state(change.id).await, Some(EntryState::Completed));
    }
    let nothing = flush_journal(&scene.line, &scene.backup, &scene.partition, 100, far_deadline())
        .await
        .expect("flushed");
    assert_eq!(nothing, FlushOutcome::default());
}

#[tokio::test]
async fn restore_rebuilds_a_lost_line_in_order() {
    let scene = FileScene::new().await;
    let mut ids = Vec::new();
    for _ in 0..20 {
        let entered = scene.enter_without_backup().await;
        scene.write_through(&entered).await;
        ids.push(entered.id);
    }
    // Five visitors were admitted at once. Two of them leave, two others are promoted, and one of those claims.
    for id in &ids[..2] {
        let left = scene.end_without_backup(*id).await;
        scene.write_through(&left).await;
    }
    scene.pass_seconds(20);
    assert_eq!(scene.promote().await, 2);
    flush_journal(&scene.line, &scene.backup, &scene.partition, 100, far_deadline())
        .await
        .expect("flushed");
    let claimed = scene.claim_unwritten(ids[5]).await;
    scene.write_through(&claimed).await;

    let now_us = scene.clock_us.load(Ordering::SeqCst);
    let empty = Line::in_process_with_clock(Arc::new(move || now_us));
    let settings = &scene.configuration.settings;
    let mut stored = StoredQueue {
        settings: settings.to_map().into(),
        settings_order: 0,
        metadata: QueueMetadata::new(scene.configuration.salt),
    };
    let created = scene.backup.create_queue(&scene.queue, &stored).await;
    assert!(created.expect("created"));
    for epoch in [2, 3] {
        let restored = restore_queue(&empty, &scene.backup, &scene.queue, &stored, settings).await;
        let expected = RestoreSummary {
            configuration: Configuration {
                epoch,
                revision: SettingsRevision::of(settings).as_str().to_owned(),
                ..scene.configuration.clone()
            },
            watermark: 0,
            waiting: 13,
            ready: 1,
            active: 4,
            flushed_changes: 0,
        };
        assert_eq!(restored.expect("restored"), expected);
        // A restore that read the queue before this one is refused.
        let late = restore_queue(&empty, &scene.backup, &scene.queue, &stored, settings).await;
        assert!(matches!(late, Err(RestoreError::EpochChanged)), "{late:?}");
        let again = scene.backup.read_queue(&scene.queue).await.expect("read");
        stored = again.expect("is there");
        assert_eq!((stored.metadata.epoch, stored.metadata.lease), (epoch, None));
    }

    for (nth, id) in (1..).zip(&ids[7..]) {
        let lookup = empty.status(&scene.queue, *id).await.expect("an answer");
        assert!(
            matches!(lookup, EntryLookup::Found(EntryStatus::Waiting { position, .. }) if position == nth),
            "position {nth}: {lookup:?}"
        );
    }
    for id in &ids[..2] {
        let lookup = empty.status(&scene.queue, *id).await.expect("an answer");
        assert!(matches!(lookup, EntryLookup::NotFound(_)), "{lookup:?}");
    }
}
