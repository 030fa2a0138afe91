//! A Redis that returns with stale data: an old snapshot, or a replica that lagged.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use vestibule_tests::{in_process::BOUND, lines::Backend, waiting::wait_until};

use crate::scene::Scene;

/// Two slots, which one tick may fill.
fn two_slots() -> Value {
    json!({ "capacity": 2, "batch": 2, "interval_seconds": 1 })
}

pub(crate) async fn later_changes_survive_a_stale_primary(backend: Backend) {
    let scene = Scene::open(backend, two_slots()).await;
    let guests = scene.enter_many(6).await;
    let (snapshot, watermark) = (
        scene.snapshot().await,
        scene.stored_queue().await.metadata.watermark,
    );
    // One visitor completes, one leaves, two enter, and the next one is promoted and claims.
    scene.complete(&guests[0]).await;
    scene.leave(&guests[4]).await;
    let newcomers = scene.enter_many(2).await;
    scene
        .with_promoters(1, async {
            wait_until(BOUND, "the next entry is promoted", async || {
                scene.status(&guests[2]).await.body["state"] == "ready"
            })
            .await;
            scene.send(guests[2].claim()).await.expect_status(200);
            wait_until(BOUND, "the watermark covers the claim", async || {
                let view = scene.view().await;
                view.journal_len == 0 && scene.stored_queue().await.metadata.watermark >= watermark + 2
            })
            .await;
        })
        .await;
    scene.restore_snapshot(&snapshot).await;
    assert_eq!(scene.view().await.waiting, 4, "the line shows the old data");

    scene
        .with_promoters(2, async {
            wait_until(BOUND, "the queue is restored", async || {
                scene.line_epoch().await.is_some_and(|epoch| epoch > 1)
            })
            .await;
        })
        .await;
    assert_eq!(scene.view().await.version.epoch, 2);
    scene
        .status_once_served(&guests[0])
        .await
        .expect_problem(410, "completed");
    scene
        .status_once_served(&guests[4])
        .await
        .expect_problem(410, "left");
    assert_eq!(scene.status_once_served(&guests[2]).await.body["state"], "active");
    assert_eq!(
        scene.positions(&[guests[3].clone(), guests[5].clone()]).await,
        [1, 2]
    );
    assert_eq!(scene.positions(&newcomers).await, [3, 4]);
}

pub(crate) async fn a_stale_line_promotes_no_entry(backend: Backend) {
    let scene = Scene::open(backend, two_slots()).await;
    let guests = scene.enter_many(4).await;
    let (snapshot, watermark) = (
        scene.snapshot().await,
        scene.stored_queue().await.metadata.watermark,
    );
    scene.enter_many(1).await;
    scene
        .with_promoters(1, async {
            wait_until(BOUND, "the watermark is raised", async || {
                scene.stored_queue().await.metadata.watermark > watermark
            })
            .await;
        })
        .await;
    // The next visitor in line leaves and an active one completes. By the stale data the visitor who left would
    // be promoted.
    scene.leave(&guests[2]).await;
    scene.complete(&guests[0]).await;
    scene.restore_snapshot(&snapshot).await;
    scene
        .with_promoters(1, async {
            wait_until(BOUND, "the correct entry is promoted", async || {
                scene.status_once_served(&guests[3]).await.body["state"] == "ready"
            })
            .await;
        })
        .await;
    let record = scene.record(&guests[2]).await;
    assert_eq!(record.promoted_at_ms, None, "{record:?}");
}

pub(crate) async fn requests_never_tick_a_stale_line(backend: Backend) {
    let scene = Scene::open(backend, two_slots()).await;
    let guests = scene.enter_many(4).await;
    scene.complete(&guests[0]).await;
    let (snapshot, watermark) = (
        scene.snapshot().await,
        scene.stored_queue().await.metadata.watermark,
    );
    // The next visitor in line leaves. No promoter runs, so the requests of the one behind run fallback ticks.
    scene.leave(&guests[2]).await;
    wait_until(
        BOUND,
        "the correct entry is promoted, and the watermark covers that",
        async || {
            let state = scene.status(&guests[3]).await.body["state"].clone();
            state == "ready" && scene.stored_queue().await.metadata.watermark > watermark
        },
    )
    .await;
    scene.restore_snapshot(&snapshot).await;
    let end = Instant::now() + Duration::from_secs(4);
    while Instant::now() < end {
        scene.status(&guests[3]).await;
        sleep(Duration::from_millis(100)).await;
    }
    let view = scene.view().await;
    assert_eq!(
        (view.waiting, view.ready),
        (2, 0),
        "the line is unchanged although there is room"
    );
    let record = scene.record(&guests[2]).await;
    assert_eq!(record.promoted_at_ms, None, "{record:?}");
    scene
        .with_promoters(1, async {
            wait_until(BOUND, "the queue is restored", async || {
                scene.status_once_served(&guests[3]).await.body["state"] == "ready"
            })
            .await;
        })
        .await;
}

pub(crate) async fn a_current_line_is_not_restored(backend: Backend) {
    let scene = Scene::open(backend, two_slots()).await;
    scene.enter_many(4).await;
    scene
        .with_promoters(3, async {
            wait_until(BOUND, "the watermark rises", async || {
                scene.enter_many(1).await;
                scene.stored_queue().await.metadata.watermark >= 3
            })
            .await;
        })
        .await;
    let (view, stored) = (scene.view().await, scene.stored_queue().await);
    assert_eq!((view.version.epoch, stored.metadata.epoch), (1, 1));
}
