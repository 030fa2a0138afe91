//! Events while the line or the backup is away.

use std::{sync::Arc, time::Duration};

use serde_json::json;
use tokio::time::sleep;
use vestibule_domain::{
    queue_event::QueueEventKind::{InTrouble, Opened, Paused, Recovered},
    queue_state::QueueState,
};
use vestibule_faults::{Fault, Faults, FaultyBackup};

use super::events_scene::EventScene;

#[tokio::test]
async fn lasting_outage_of_the_line_is_a_trouble_and_ends() {
    let scene = EventScene::new(json!({})).await;
    // A visitor keeps the queue from being parked.
    scene.scene.enter(&scene.partition, "ada").await;
    let faults = Faults::default();
    let line = scene.scene.line.clone().with_tap(Arc::new(faults.clone()));
    let promoter = scene.promoter_on(line, scene.scene.backup.clone());
    let outages = async {
        sleep(Duration::from_secs(6)).await;
        faults.fail_all(Fault::Unavailable);
        sleep(Duration::from_secs(20)).await;
        faults.heal_all();
        sleep(Duration::from_secs(20)).await;
        assert_eq!(scene.bus.kinds(), [Opened], "20 s are no trouble");
        faults.fail_all(Fault::Unavailable);
        sleep(Duration::from_secs(40)).await;
        let last = scene.bus.taken().pop().expect("an event");
        assert_eq!((last.kind, last.state), (InTrouble, Some(QueueState::Open)));
        assert!(last.troubles.contains("tick"), "{last:?}");
        faults.heal_all();
        sleep(Duration::from_secs(15)).await;
    };
    promoter.run(outages).await;
    assert_eq!(scene.bus.kinds(), [Opened, InTrouble, Recovered]);
}

#[tokio::test]
async fn next_promoter_tells_that_a_queue_recovered() {
    let scene = EventScene::new(json!({})).await;
    let faults = Faults::default();
    let line = scene.scene.line.clone().with_tap(Arc::new(faults.clone()));
    faults.fail_all(Fault::Unavailable);
    let promoter = scene.promoter_on(line, scene.scene.backup.clone());
    promoter.run(sleep(Duration::from_secs(40))).await;
    assert_eq!(scene.bus.kinds(), [InTrouble], "also if it never ticked");
    scene.run_for(12).await;
    assert_eq!(scene.bus.kinds(), [InTrouble, Opened, Recovered]);
}

#[tokio::test]
async fn refused_settings_are_a_trouble_until_corrected() {
    let scene = EventScene::new(json!({})).await;
    let promoter = scene.promoter();
    let edits = async {
        sleep(Duration::from_secs(5)).await;
        scene.edit(json!({ "batch": "many" })).await;
        sleep(Duration::from_secs(40)).await;
        let last = scene.bus.taken().pop().expect("an event");
        assert!(last.troubles.contains("sync"), "{last:?}");
        scene.edit(json!({})).await;
        // The queue is empty, so it is parked at once, and the next rare tick, two minutes later, shows that it is sound.
        sleep(Duration::from_secs(130)).await;
    };
    promoter.run(edits).await;
    assert_eq!(scene.bus.kinds(), [Opened, InTrouble, Recovered]);
}

/// The brake works without the table, and so do its events.
#[tokio::test]
async fn pause_is_told_while_the_backup_cannot_be_written() {
    let scene = EventScene::new(json!({})).await;
    let backup = FaultyBackup::new(scene.scene.backup.clone(), Faults::default());
    let promoter = scene.promoter_on(scene.scene.line.clone(), backup.clone());
    let outage = async {
        sleep(Duration::from_secs(5)).await;
        backup.faults().fail("replace_outbox", Fault::Unavailable);
        scene.edit(json!({ "paused": true })).await;
        sleep(Duration::from_secs(8)).await;
        assert_eq!(scene.bus.kinds(), [Opened, Paused]);
        backup.faults().heal("replace_outbox");
        sleep(Duration::from_secs(8)).await;
    };
    promoter.run(outage).await;
    scene.run_for(8).await;
    assert_eq!(scene.bus.kinds(), [Opened, Paused], "it was written later");
}
