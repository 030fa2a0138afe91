//! A restore that is cut off at the end of a promoter's run, and one that comes between the two writes that create a
//! queue.

use std::time::Duration;

use serde_json::json;
use tokio::{sync::oneshot, time::sleep};
use uuid::Uuid;
use vestibule_backup::{Backup, Lease, QueueMetadata, StoredQueue};
use vestibule_domain::settings::Settings;
use vestibule_engine::restore::{RestoreError, restore_queue};
use vestibule_faults::{Faults, FaultyBackup};
use vestibule_line::Line;

use super::{Fixture, slow_backup::promoter};

#[tokio::test]
async fn restore_that_is_cut_off_releases_its_lease() {
    let scene = Fixture::new(Line::in_process());
    let (queue, _) = scene.store_queue("cut", json!({})).await;
    let backup = FaultyBackup::new(scene.backup.clone(), Faults::default());
    backup
        .faults()
        .delay("read_live_entries", Duration::from_hours(1));
    let (stop, stopped) = oneshot::channel::<()>();
    let running = tokio::spawn({
        let promoter = promoter(&scene, backup.clone());
        async move { promoter.run(async move { drop(stopped.await) }).await }
    });
    while backup.faults().calls("read_live_entries") == 0 {
        sleep(Duration::from_millis(5)).await;
    }
    let stored = || async {
        scene
            .backup
            .read_queue(&queue)
            .await
            .expect("read")
            .expect("there")
    };
    assert!(
        stored().await.metadata.lease.is_some(),
        "the restore is under way"
    );
    drop(stop);
    running.await.expect("the run ends");
    let metadata = stored().await.metadata;
    assert_eq!((metadata.epoch, metadata.lease), (2, None));
}

#[tokio::test]
async fn queue_that_was_read_while_it_was_created_is_not_restored() {
    let scene = Fixture::new(Line::in_process());
    let (queue, _) = scene.store_queue("new", json!({})).await;
    let read = async || {
        let stored = scene.backup.read_queue(&queue).await;
        stored.expect("read").expect("there")
    };
    let stored = read().await;
    let lease = Lease::new(Uuid::new_v4());
    let being_created = StoredQueue {
        metadata: QueueMetadata {
            lease: Some(lease),
            ..stored.metadata
        },
        ..stored
    };
    // The lease was released since, and the line has the queue.
    let settings = Settings::default();
    let restored = restore_queue(&scene.line, &*scene.backup, &queue, &being_created, &settings).await;
    assert!(matches!(restored, Err(RestoreError::LeaseHeld)), "{restored:?}");
    assert_eq!(read().await.metadata.epoch, 1, "nothing was restored");
}
