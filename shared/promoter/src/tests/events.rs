//! The events of a queue: each change is told at least once, and no promotion waits for the bus.

use std::{collections::BTreeSet, time::Duration};

use serde_json::json;
use tokio::time::sleep;
use vestibule_domain::{
    queue_event::QueueEventKind::{Closed, Draining, Finished, Opened, Paused, Resumed},
    queue_state::QueueState,
    settings::FinishReason,
};
use vestibule_line::Arrival;

use super::{
    entry_id,
    events_scene::{BusMode, EventScene, busy_settings},
};

#[tokio::test]
async fn edits_by_hand_are_told_once_each() {
    let scene = EventScene::new(json!({})).await;
    let promoter = scene.promoter();
    let edits = async {
        for settings in [
            json!({ "paused": true }),
            json!({}),
            json!({ "entrance": "closed" }),
            json!({}),
            json!({ "entrance": "cancelled" }),
        ] {
            // The promoter syncs every three seconds and looks every two.
            sleep(Duration::from_secs(7)).await;
            scene.edit(settings).await;
        }
        sleep(Duration::from_secs(7)).await;
    };
    promoter.run(edits).await;
    assert_eq!(
        scene.bus.kinds(),
        [Opened, Paused, Resumed, Closed, Opened, Finished]
    );
    let last = scene.bus.taken().pop().expect("an event");
    assert_eq!((last.serial, last.state), (6, Some(QueueState::Finished)));
    assert_eq!(last.finish_reason, Some(FinishReason::Cancelled));
    scene.run_for(10).await;
    assert_eq!(scene.bus.taken().len(), 6, "a later promoter repeats nothing");
}

#[tokio::test]
async fn times_of_the_settings_are_told_without_an_order() {
    let scene = EventScene::new(json!({})).await;
    let now_ms = scene.now_ms().await;
    scene
        .edit(json!({
            "opens_at_ms": now_ms + 10_000,
            "closes_at_ms": now_ms + 20_000,
            "ends_at_ms": now_ms + 30_000,
        }))
        .await;
    scene.scene.sync(&scene.partition.queue).await.expect("synced");
    // A visitor keeps the queue from being parked.
    scene.scene.enter(&scene.partition, "ada").await;
    scene.run_for(9).await;
    assert_eq!(scene.bus.kinds(), [], "an opening that lies ahead is no event");
    scene.run_for(40).await;
    assert_eq!(scene.bus.kinds(), [Opened, Draining, Finished]);
}

#[tokio::test]
async fn change_while_no_promoter_runs_is_told_by_the_next() {
    let scene = EventScene::new(json!({})).await;
    scene.run_for(5).await;
    scene.edit(json!({ "paused": true })).await;
    sleep(Duration::from_mins(10)).await;
    scene.run_for(5).await;
    assert_eq!(scene.bus.kinds(), [Opened, Paused]);
}

#[tokio::test]
async fn killed_promoter_sends_again_with_the_same_id() {
    let scene = EventScene::new(json!({})).await;
    scene.bus.set_mode(BusMode::AcceptsWithoutAnswer);
    scene.run_for(3).await;
    assert_eq!(scene.bus.kinds(), [Opened]);
    // Meanwhile the state changes, so that the next promoter finds another one.
    scene.edit(json!({ "entrance": "closed" })).await;
    scene.bus.set_mode(BusMode::Accepts);
    scene.run_for(8).await;
    assert_eq!(scene.bus.kinds(), [Opened, Opened, Closed]);
    let taken = scene.bus.taken();
    assert_eq!(taken[0], taken[1], "the repeated event says the same");
    let ids: BTreeSet<_> = taken.iter().map(|event| &event.id).collect();
    assert_eq!(ids.len(), 2);
}

#[tokio::test]
async fn change_that_was_undone_before_the_bus_answered_is_told() {
    let scene = EventScene::new(json!({})).await;
    scene.run_for(4).await;
    scene.bus.set_mode(BusMode::Fails);
    scene.edit(json!({ "paused": true })).await;
    scene.run_for(6).await;
    scene.edit(json!({})).await;
    scene.run_for(6).await;
    assert_eq!(scene.bus.kinds(), [Opened]);
    scene.bus.set_mode(BusMode::Accepts);
    scene.run_for(4).await;
    assert_eq!(scene.bus.kinds(), [Opened, Paused, Resumed]);
}

#[tokio::test]
async fn bus_that_fails_delays_no_promotion() {
    promotion_goes_on_while_the_bus(BusMode::Fails).await;
}

#[tokio::test]
async fn bus_that_hangs_delays_no_promotion() {
    promotion_goes_on_while_the_bus(BusMode::Hangs).await;
}

async fn promotion_goes_on_while_the_bus(mode: BusMode) {
    let scene = EventScene::new(busy_settings()).await;
    for visitor in 0..100 {
        let (line, queue) = (&scene.scene.line, &scene.partition.queue);
        let id = entry_id(queue, &visitor.to_string());
        line.enter(queue, id, Arrival::Ordinary).await.expect("entered");
    }
    scene.bus.set_mode(mode);
    let promoter = scene.promoter();
    let outage = async {
        sleep(Duration::from_millis(30_500)).await;
        let promoted = scene.promoted().await;
        assert!((29..=32).contains(&promoted), "{promoted} in 30 s");
        let calls = scene.bus.calls();
        assert!((2..=8).contains(&calls), "the pauses grow: {calls} calls");
        scene.bus.set_mode(BusMode::Accepts);
        sleep(Duration::from_mins(1)).await;
    };
    promoter.run(outage).await;
    assert_eq!(scene.bus.kinds(), [Opened], "it comes later");
}

#[tokio::test]
async fn reset_queue_tells_its_opening_again() {
    let scene = EventScene::new(json!({})).await;
    scene.run_for(4).await;
    scene.reset().await;
    scene.run_for(4).await;
    assert_eq!(scene.bus.kinds(), [Opened, Opened]);
    let taken = scene.bus.taken();
    assert_eq!((taken[0].generation, taken[1].generation), (1, 2));
    assert_ne!(taken[0].id, taken[1].id);
}

#[tokio::test]
async fn two_promoters_give_one_change_one_id() {
    let scene = EventScene::new(json!({})).await;
    let (one, other) = (scene.promoter(), scene.promoter());
    let edits = async {
        sleep(Duration::from_secs(5)).await;
        scene.edit(json!({ "paused": true })).await;
        sleep(Duration::from_secs(8)).await;
    };
    tokio::join!(one.run(edits), other.run(sleep(Duration::from_secs(13))));
    let taken = scene.bus.taken();
    let changes: BTreeSet<_> = taken
        .iter()
        .map(|event| (event.serial, event.id.clone()))
        .collect();
    assert_eq!(changes.len(), 2, "{taken:?}");
}
