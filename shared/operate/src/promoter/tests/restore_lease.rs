//! A restore that is cut off at the end of a promoter's run.

use std::{sync::Arc, time::Duration};

use serde_json::json;
use tokio::{sync::oneshot, time::sleep};
use vestibule_backup::Backup;
use vestibule_faults::{Faults, FaultyBackup};
use vestibule_line_memory::MemoryLine;

use super::{Fixture, slow_backup::promoter};

#[tokio::test]
async fn restore_that_is_cut_off_releases_its_lease() {
    let scene = Fixture::new(Arc::new(MemoryLine::new()));
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
