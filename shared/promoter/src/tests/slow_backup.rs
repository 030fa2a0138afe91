//! A slow backup: promotion must not wait for it, and the journal must still reach it.

use std::{sync::Arc, time::Duration};

use serde_json::json;
use tokio::time::{Instant, sleep};
use vestibule_backup::EntryPartition;
use vestibule_domain::id::QueueId;
use vestibule_engine::{flush::flush_journal, sync::SettingsPolicy};
use vestibule_faults::{Faults, FaultyBackup};
use vestibule_line::{Arrival, EmbeddedServer, Line};

use super::{Fixture, entry_id};
use crate::Promoter;

/// A backup that takes this long for each batch of a flush and does not store it. Everything else
/// goes to the file.
pub(super) fn slow_backup(scene: &Fixture, batch_duration: Duration) -> Arc<FaultyBackup> {
    let faults = Faults::default();
    faults.delay("put_changes", batch_duration);
    faults.discard_changes();
    FaultyBackup::new(scene.backup.clone(), faults)
}

/// A line whose clock follows tokio's time, so that it stops while that is paused.
pub(super) fn paced_line() -> Line {
    Line::on_embedded(paced_server(Instant::now()))
}

/// The server of a [`paced_line`] whose clock has run since `start`.
pub(super) fn paced_server(start: Instant) -> EmbeddedServer {
    EmbeddedServer::new(Arc::new(move || {
        let passed = Instant::now().duration_since(start).as_micros();
        1_800_000_000_000_000 + u64::try_from(passed).expect("a test is short")
    }))
}

/// Sets up a queue with a pace of one entry per second and this many visitors, whose entries are in
/// the line only.
async fn queue_with_waiting_visitors(
    scene: &Fixture,
    name: &str,
    visitors: u32,
) -> (QueueId, EntryPartition) {
    let pace = json!({ "capacity": 1_000, "batch": 1, "interval_seconds": 1, "presence_seconds": 0 });
    let (queue, partition) = scene.create_queue(name, pace).await;
    for visitor in 0..visitors {
        scene
            .line
            .enter(&queue, entry_id(&queue, &visitor.to_string()), Arrival::Ordinary)
            .await
            .expect("entered");
    }
    (queue, partition)
}

pub(super) fn promoter(scene: &Fixture, backup: Arc<FaultyBackup>) -> Arc<Promoter> {
    Arc::new(Promoter::new(
        scene.line.clone(),
        backup,
        SettingsPolicy::default(),
    ))
}

#[tokio::test]
async fn slow_backup_does_not_delay_promotion() {
    const QUEUES: u32 = 60;
    let scene = Fixture::new(paced_line());
    let mut queues = Vec::new();
    for number in 0..QUEUES {
        queues.push(
            queue_with_waiting_visitors(&scene, &format!("q{number}"), 20)
                .await
                .0,
        );
    }
    let slow = slow_backup(&scene, Duration::from_secs(20));
    tokio::time::pause();
    let started = Instant::now();
    promoter(&scene, slow.clone())
        .run(sleep(Duration::from_millis(15_500)))
        .await;
    assert!(
        started.elapsed() < Duration::from_secs(18),
        "the last drains are bounded"
    );
    for queue in queues {
        let promoted = scene.line.queue_view(&queue).await.expect("seen").totals.promoted;
        assert!(promoted >= 13, "{queue}: {promoted} of 15");
    }
    let most = slow.faults().running_max("put_changes");
    assert!(
        (2..=16).contains(&most),
        "drains go side by side, within a bound: {most}"
    );
}

#[tokio::test]
async fn slow_record_is_written_and_flushes_never_overlap() {
    let scene = Fixture::new(paced_line());
    let (queue, _) = queue_with_waiting_visitors(&scene, "q", 4).await;
    let slow = slow_backup(&scene, Duration::from_secs(27));
    tokio::time::pause();
    promoter(&scene, slow.clone())
        .run(sleep(Duration::from_mins(3)))
        .await;
    let view = scene.line.queue_view(&queue).await.expect("seen");
    assert_eq!((view.totals.promoted, view.journal_len), (3, 0));
    assert_eq!(slow.faults().running_max("put_changes"), 1);
}

#[tokio::test]
async fn flush_ends_only_between_batches() {
    let scene = Fixture::new(paced_line());
    let (queue, partition) = scene.create_queue("q", json!({})).await;
    // A batch has 1,000 entries, so there are four.
    for visitor in 0..3_500 {
        let change = scene.enter_unwritten(&queue, &visitor.to_string()).await;
        scene
            .line
            .append_to_journal(&queue, &change)
            .await
            .expect("recorded");
    }
    tokio::time::pause();
    let slow = slow_backup(&scene, Duration::from_secs(5));
    let flush = async |time: u64| {
        let until = Instant::now() + Duration::from_secs(time);
        flush_journal(&scene.line, &*slow, &partition, 10_000, until).await
    };
    assert_eq!(
        flush(0).await.expect("flushed").records,
        1_000,
        "always the first"
    );
    assert_eq!(flush(7).await.expect("flushed").records, 2_000);
    let hangs = slow_backup(&scene, Duration::from_hours(1));
    let error = flush_journal(&scene.line, &*hangs, &partition, 10_000, Instant::now()).await;
    assert!(error.expect_err("given up").to_string().contains("30s"));
    assert_eq!(
        scene.line.queue_view(&queue).await.expect("seen").journal_len,
        500
    );
}
