//! From the line into the backup, and back into a line.

use std::{
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use vestibule_backup::{Backup, BackupError, QueueMetadata, StoredQueue, settings_revision};
use vestibule_domain::{configuration::Configuration, entry_status::EntryStatus, state::EntryState};
use vestibule_engine::{
    flush::{FlushError, FlushOutcome, flush_journal},
    restore::{RestoreError, RestoreSummary, restore_queue},
    write_through::{WRITE_DEADLINE, WriteOutcome, write_through},
};
use vestibule_line::{EntryLine, EntryLookup, JournalLine};
use vestibule_line_memory::MemoryLine;
use vestibule_tests::entries::write_all;

use crate::place::{Place, away, long};

#[tokio::test]
async fn a_change_is_in_the_backup_before_it_is_acknowledged() {
    let place = Place::new().await;
    let entered = place.enter().await;
    let through = place.write(&entered).await;
    assert!(through.durable);
    assert_eq!(
        through.record,
        place
            .backup
            .read_entry(&place.shelf, entered.id)
            .await
            .expect("an answer")
    );
    let again = place.write(&entered).await;
    assert_eq!(
        again,
        WriteOutcome {
            durable: true,
            is_conflicting: false,
            record: None
        }
    );
    assert_eq!(place.unsettled().await, (0, 0));
}

#[tokio::test]
async fn the_line_forgets_an_end_when_the_backup_has_it() {
    let place = Place::new().await;
    let entered = place.enter().await;
    place.write(&entered).await;
    let left = place.leave(entered.id).await;
    assert_eq!(place.unsettled().await, (0, 1));
    assert!(place.write(&left).await.durable);
    assert_eq!(place.unsettled().await, (0, 0));
    assert_eq!(place.state(entered.id).await, Some(EntryState::Completed));
}

#[tokio::test]
async fn a_change_that_the_backup_does_not_take_is_in_the_journal() {
    let place = Place::new().await;
    let entered = place.enter().await;
    let since = Instant::now();
    let through = write_through(&place.line, &away().await, &place.shelf, &entered).await;
    assert_eq!(
        through.expect("an answer"),
        WriteOutcome {
            durable: false,
            is_conflicting: false,
            record: None
        }
    );
    assert!(
        since.elapsed() < WRITE_DEADLINE + Duration::from_secs(1),
        "{:?}",
        since.elapsed()
    );
    let journal = place
        .line
        .due_journal_records(&place.queue, 10)
        .await
        .expect("an answer");
    let changes: Vec<_> = journal.into_iter().flat_map(|record| record.changes).collect();
    assert_eq!(changes, std::slice::from_ref(&entered));

    // When it is back, a drain brings it there.
    flush_journal(&place.line, &place.backup, &place.shelf, 10, long())
        .await
        .expect("drained");
    assert_eq!(place.state(entered.id).await, Some(EntryState::Active));
}

#[tokio::test]
async fn a_drain_brings_the_journal_into_the_backup_in_order_and_only_once() {
    let place = Place::new().await;
    let (mut active, mut waiting) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        active.push(place.enter().await.id);
    }
    for _ in 0..6 {
        waiting.push(place.enter().await.id);
    }
    let mut left = Vec::new();
    for id in active.drain(..3) {
        left.push(place.leave(id).await);
    }
    place.seconds_pass(20);
    assert_eq!(place.promote().await, 3, "into the room that those who left made");
    for change in &left {
        // As though the backup had been away for a moment.
        place
            .line
            .append_to_journal(&place.queue, change)
            .await
            .expect("recorded");
    }
    place.seconds_pass(70);
    assert_eq!(place.promote().await, 3, "and three no-shows are dropped");
    let (records, ended) = place.unsettled().await;
    assert_eq!(ended, 3 + 3);

    let one = flush_journal(&place.line, &place.backup, &place.shelf, 1, long())
        .await
        .expect("drained");
    assert_eq!(
        one,
        FlushOutcome {
            records: 1,
            changes: 3,
            ..FlushOutcome::default()
        }
    );
    assert_eq!(
        place.state(waiting[0]).await,
        Some(EntryState::Ready),
        "the oldest comes first"
    );
    assert_eq!(place.state(left[0].id).await, None);

    // Two at once, and once more what they did.
    let journal = place
        .line
        .due_journal_records(&place.queue, 100)
        .await
        .expect("an answer");
    let (a, b) = tokio::join!(
        flush_journal(&place.line, &place.backup, &place.shelf, 100, long()),
        flush_journal(&place.line, &place.backup, &place.shelf, 100, long())
    );
    a.expect("drained");
    b.expect("drained");
    for record in journal {
        write_all(&place.backup, &place.shelf, &record.changes).await;
    }
    assert!(records > 1);
    assert_eq!(place.unsettled().await, (0, 0));
    for id in &waiting[..3] {
        assert_eq!(place.state(*id).await, Some(EntryState::Expired));
    }
    for id in &waiting[3..] {
        assert_eq!(place.state(*id).await, Some(EntryState::Ready));
    }
    for change in left {
        assert_eq!(place.state(change.id).await, Some(EntryState::Completed));
    }
    let nothing = flush_journal(&place.line, &place.backup, &place.shelf, 100, long())
        .await
        .expect("drained");
    assert_eq!(nothing, FlushOutcome::default());
}

#[tokio::test]
async fn a_drain_that_fails_leaves_the_journal_as_it_is() {
    let place = Place::new().await;
    let entered = place.enter().await;
    place
        .line
        .append_to_journal(&place.queue, &entered)
        .await
        .expect("recorded");
    let before = place
        .line
        .due_journal_records(&place.queue, 10)
        .await
        .expect("an answer");
    let error = flush_journal(&place.line, &away().await, &place.shelf, 10, long())
        .await
        .expect_err("nobody takes it");
    assert!(
        matches!(error, FlushError::Backup(BackupError::Unavailable(_))),
        "{error}"
    );
    assert_eq!(
        place
            .line
            .due_journal_records(&place.queue, 10)
            .await
            .expect("an answer"),
        before
    );
}

#[tokio::test]
async fn a_line_that_was_lost_comes_back_in_order() {
    let place = Place::new().await;
    let mut ids = Vec::new();
    for _ in 0..20 {
        let entered = place.enter().await;
        place.write(&entered).await;
        ids.push(entered.id);
    }
    // Five were let in at once. Two of them go, and two take their turn, one of whom says so.
    for id in &ids[..2] {
        let left = place.leave(*id).await;
        place.write(&left).await;
    }
    place.seconds_pass(20);
    assert_eq!(place.promote().await, 2);
    flush_journal(&place.line, &place.backup, &place.shelf, 100, long())
        .await
        .expect("drained");
    let claimed = place.claim(ids[5]).await;
    place.write(&claimed).await;

    let now_us = place.clock_us.load(Ordering::SeqCst);
    let empty = MemoryLine::with_clock(Arc::new(move || now_us));
    let settings = &place.configuration.settings;
    let mut stored = StoredQueue {
        settings: settings.to_map().into(),
        settings_order: 0,
        metadata: QueueMetadata::new(place.configuration.salt),
    };
    let created = place.backup.create_queue(&place.queue, &stored).await;
    assert!(created.expect("created"));
    for epoch in [2, 3] {
        let restored = restore_queue(&empty, &place.backup, &place.queue, &stored, settings).await;
        let expected = RestoreSummary {
            configuration: Configuration {
                epoch,
                revision: settings_revision(settings),
                ..place.configuration.clone()
            },
            watermark: 0,
            waiting: 13,
            ready: 1,
            active: 4,
            flushed_changes: 0,
        };
        assert_eq!(restored.expect("restored"), expected);
        // Whoever read the queue before that comes too late.
        let late = restore_queue(&empty, &place.backup, &place.queue, &stored, settings).await;
        assert!(matches!(late, Err(RestoreError::EpochChanged)), "{late:?}");
        let again = place.backup.read_queue(&place.queue).await.expect("read");
        stored = again.expect("is there");
        assert_eq!((stored.metadata.epoch, stored.metadata.lease), (epoch, None));
    }

    for (nth, id) in (1..).zip(&ids[7..]) {
        let look = empty.status(&place.queue, *id).await.expect("an answer");
        assert!(
            matches!(look, EntryLookup::Found(EntryStatus::Waiting { position, .. }) if position == nth),
            "{nth}: {look:?}"
        );
    }
    for id in &ids[..2] {
        let look = empty.status(&place.queue, *id).await.expect("an answer");
        assert!(matches!(look, EntryLookup::NotFound(_)), "{look:?}");
    }
}
