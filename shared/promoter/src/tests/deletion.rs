//! The promoter and deleted queues: it completes a deletion that was cut off, and never brings a queue back.

use std::{sync::Arc, time::Duration};

use serde_json::json;
use tokio::time::{sleep, timeout};
use vestibule_backup::{Backup, QueueLookup};
use vestibule_backup_file::FileBackup;
use vestibule_domain::{id::QueueId, tombstone::Tombstone};
use vestibule_engine::{
    deletion::{complete_deletion, delete_queue},
    fallback_tick::FallbackTickOutcome,
    restore::restore_queue,
    sync::{SettingsPolicy, SyncOutcome},
};
use vestibule_faults::{Fault, Faults};
use vestibule_line::{Line, LineError, QueueTrace};
use vestibule_telemetry::clock::now_ms;

use super::{Fixture, memory_line};
use crate::Promoter;

/// A bound for each wait that also a busy machine keeps.
const BOUND: Duration = Duration::from_secs(40);

async fn find_trace(line: &Line, queue: &QueueId) -> QueueTrace {
    line.find_trace(queue).await.expect("an answer")
}

/// Waits until the line has nothing of the queue but its tombstone.
async fn wait_until_deleted(line: &Line, queue: &QueueId) -> Tombstone {
    let waiting = async {
        loop {
            if let QueueTrace::Deleted(tombstone) = find_trace(line, queue).await {
                return tombstone;
            }
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(BOUND, waiting).await.expect("deleted in time")
}

/// The command stored the tombstone, and was killed.
async fn bury(scene: &Fixture, queue: &QueueId) -> Tombstone {
    let tombstone = Tombstone::new(1, 1, now_ms());
    let deleted = scene.backup.delete_queue(queue, 1, &tombstone).await;
    assert!(deleted.expect("deleted"));
    tombstone
}

#[tokio::test]
async fn the_promoter_completes_a_delete_that_was_killed() {
    let scene = Fixture::new(memory_line());
    let (queue, partition) = scene.create_queue("q", json!({})).await;
    scene.enter(&partition, "ada").await;
    let tombstone = bury(&scene, &queue).await;
    let deleted = wait_until_deleted(&scene.line, &queue);
    let mut found = None;
    scene.promoter().run(async { found = Some(deleted.await) }).await;
    assert_eq!(found, Some(tombstone));
}

#[tokio::test]
async fn items_deleted_by_hand_delete_the_queue() {
    let scene = Fixture::new(memory_line());
    let (queue, partition) = scene.create_queue("q", json!({})).await;
    scene.enter(&partition, "ada").await;
    let mut promoter = Promoter::new(
        scene.line.clone(),
        scene.backup.clone(),
        SettingsPolicy::default(),
    );
    promoter.sync_all().await.expect("listed");
    // Both items are gone, as in an empty file.
    let folder = tempfile::tempdir().expect("a folder");
    let emptied = FileBackup::open(folder.path().join("backup.redb")).expect("a new store");
    promoter.backup = Arc::new(emptied);
    let promoter = Arc::new(promoter);
    let deleted = wait_until_deleted(&scene.line, &queue);
    let mut found = None;
    promoter.run(async { found = Some(deleted.await) }).await;
    let tombstone = found.expect("deleted");
    assert_eq!(tombstone.generation, 1);
    let stored = promoter.backup.look_up_queue(&queue).await.expect("an answer");
    assert_eq!(stored, QueueLookup::Deleted(tombstone));
}

#[tokio::test]
async fn a_sync_that_read_the_queue_earlier_does_not_restore_it() {
    let scene = Fixture::new(memory_line());
    let (queue, stored) = scene.store_queue("q", json!({})).await;
    let tombstone = bury(&scene, &queue).await;
    complete_deletion(&scene.line, &*scene.backup, &queue)
        .await
        .expect("deleted");
    let settings = stored.settings.parse().expect("valid");
    let restored = restore_queue(&scene.line, &*scene.backup, &queue, &stored, &settings).await;
    assert!(restored.is_err(), "{restored:?}");
    assert_eq!(
        scene.sync(&queue).await.expect("synced"),
        SyncOutcome::QueueRemoved
    );
    assert_eq!(
        find_trace(&scene.line, &queue).await,
        QueueTrace::Deleted(tombstone)
    );
}

/// While the promoter is down, the request of a visitor completes the deletion.
#[tokio::test]
async fn a_fallback_tick_completes_a_delete_that_was_killed() {
    let scene = Fixture::new(memory_line());
    let (queue, partition) = scene.create_queue("q", json!({})).await;
    scene.enter(&partition, "ada").await;
    let tombstone = bury(&scene, &queue).await;
    let ticked = scene.fallback_tick(&partition).await.expect("answered");
    assert_eq!(ticked, FallbackTickOutcome::LineNotCurrent);
    assert_eq!(
        find_trace(&scene.line, &queue).await,
        QueueTrace::Deleted(tombstone)
    );
}

/// A restore took the lease and was frozen before it put the entries into the line.
#[tokio::test]
async fn a_restore_that_was_frozen_does_not_bring_a_queue_back() {
    let scene = Fixture::new(memory_line());
    let (queue, partition) = scene.create_queue("q", json!({})).await;
    scene.enter(&partition, "ada").await;
    let faults = Faults::default();
    let gate = faults.gate_before("restore");
    gate.shut();
    let line = scene.line.clone().with_tap(Arc::new(faults));
    let (backup, name) = (scene.backup.clone(), queue.clone());
    let stored = backup.read_queue(&queue).await.expect("read").expect("is there");
    let frozen = tokio::spawn(async move {
        let settings = stored.settings.parse().expect("valid");
        restore_queue(&line, &*backup, &name, &stored, &settings).await
    });
    timeout(BOUND, async {
        while gate.arrivals() == 0 {
            sleep(Duration::from_millis(5)).await;
        }
    })
    .await
    .expect("the restore begins");
    let leased = scene
        .backup
        .read_queue(&queue)
        .await
        .expect("read")
        .expect("is there");
    let deleted = delete_queue(&scene.line, &*scene.backup, &queue, &leased.metadata).await;
    let tombstone = deleted.expect("deleted").expect("of this epoch");
    gate.open();
    let restored = frozen.await.expect("no panic");
    assert!(restored.is_err(), "{restored:?}");
    assert_eq!(
        find_trace(&scene.line, &queue).await,
        QueueTrace::Deleted(tombstone)
    );
}

#[tokio::test]
async fn a_deletion_that_failed_is_repeated() {
    let scene = Fixture::new(memory_line());
    let (queue, _) = scene.create_queue("q", json!({})).await;
    bury(&scene, &queue).await;
    let faults = Faults::default();
    faults.fail("delete_queue", Fault::Unavailable);
    let line = scene.line.clone().with_tap(Arc::new(faults.clone()));
    let promoter = Promoter::new(line, scene.backup.clone(), SettingsPolicy::default());
    let operator = async {
        timeout(BOUND, async {
            while faults.calls("delete_queue") == 0 {
                sleep(Duration::from_millis(20)).await;
            }
        })
        .await
        .expect("tried");
        let view = scene.line.queue_view(&queue).await;
        assert!(view.is_ok(), "{view:?}");
        faults.heal("delete_queue");
        wait_until_deleted(&scene.line, &queue).await;
    };
    Arc::new(promoter).run(operator).await;
    let view = scene.line.queue_view(&queue).await;
    assert!(matches!(view, Err(LineError::QueueNotFound)), "{view:?}");
}
