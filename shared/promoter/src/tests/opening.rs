//! The opening of a queue: within a second by the promoter and by requests, and for good.

use std::time::Duration;

use serde_json::json;
use tokio::time::sleep;
use vestibule_backup::Backup;
use vestibule_domain::{id::QueueId, queue_state::QueueState};
use vestibule_engine::{tick::tick, tick_history::TickHistory};

use super::{Fixture, slow_backup::paced_line};

/// A queue with three visitors that opens in ten seconds, in which presence is off.
async fn scheduled_queue(scene: &Fixture) -> vestibule_backup::EntryPartition {
    let (queue, partition) = scene.create_queue("q", json!({})).await;
    let now_ms = scene.line.queue_view(&queue).await.expect("seen").now_ms;
    let settings =
        json!({ "opens_at_ms": now_ms + 10_000, "presence_seconds": 0, "batch": 2, "interval_seconds": 1 });
    scene.replace_stored_settings(&queue, settings).await;
    scene.sync(&queue).await.expect("synced");
    for visitor in ["ada", "bob", "eve"] {
        scene.enter(&partition, visitor).await;
    }
    partition
}

async fn recorded_opening(scene: &Fixture, queue: &QueueId) -> Option<u64> {
    let stored = scene.backup.read_queue(queue).await.expect("read");
    stored.expect("is there").metadata.opened_at_ms
}

async fn state(scene: &Fixture, queue: &QueueId) -> QueueState {
    scene.line.queue_view(queue).await.expect("seen").state()
}

#[tokio::test]
async fn promoter_opens_a_queue_for_good() {
    let scene = Fixture::new(paced_line());
    let partition = scheduled_queue(&scene).await;
    let queue = &partition.queue;
    tokio::time::pause();
    let history = TickHistory::default();
    let mut promoted = Vec::new();
    for _ in 0..11 {
        promoted.push(
            tick(&scene.line, queue, None, &history)
                .await
                .expect("ticked")
                .promoted,
        );
        sleep(Duration::from_secs(1)).await;
    }
    assert_eq!(promoted.iter().sum::<u64>(), 2, "{promoted:?}");
    assert_eq!(promoted[..10], [0; 10], "nothing before the opening");
    assert_eq!(recorded_opening(&scene, queue).await, None);
    scene.sync(queue).await.expect("synced");
    let opened_at_ms = recorded_opening(&scene, queue).await;
    assert!(opened_at_ms.is_some());

    // An operator moves the time in the table, and the line loses everything.
    let later = json!({ "opens_at_ms": opened_at_ms.unwrap_or(0) + 3_600_000, "presence_seconds": 0 });
    scene.replace_stored_settings(queue, later).await;
    assert!(scene.line.drop_queue(queue, 2).await.expect("dropped"));
    scene.sync(queue).await.expect("restored");
    assert_eq!(state(&scene, queue).await, QueueState::Open);
    assert_eq!(recorded_opening(&scene, queue).await, opened_at_ms);
}

#[tokio::test]
async fn request_opens_a_queue_without_a_promoter() {
    let scene = Fixture::new(paced_line());
    let partition = scheduled_queue(&scene).await;
    tokio::time::pause();
    let mut promoted = Vec::new();
    for _ in 0..11 {
        promoted.push(scene.fallback_tick_and_count_promoted(&partition).await);
        sleep(Duration::from_secs(1)).await;
    }
    assert_eq!(promoted.iter().sum::<u64>(), 2, "{promoted:?}");
    assert_eq!(promoted[..10], [0; 10], "nothing before the opening");
    assert!(recorded_opening(&scene, &partition.queue).await.is_some());
}
