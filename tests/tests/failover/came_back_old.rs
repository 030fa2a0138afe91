//! A Redis that came back as it was some time ago: a snapshot, or a replica that lagged.

use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, sleep};
use vestibule_tests::{
    edge::{Ask, BOUND},
    lines::Backend,
    waiting::wait_until,
};

use crate::scene::Scene;

pub(crate) async fn what_happened_since_then_is_not_undone(on: Backend) {
    let scene = Scene::open(on, json!({ "capacity": 2, "batch": 2, "interval_seconds": 1 })).await;
    let guests = scene.guests(6).await;
    let (old, fence) = (scene.snapshot().await, scene.stored().await.metadata.watermark);
    // One is done, one leaves, two come, and those who are next are called and let in.
    scene
        .send(scene.service(&guests[0], "complete", &json!({})))
        .await
        .is(204);
    scene
        .send(Ask::delete(scene.path(&guests[4])).visitor(&guests[4].id))
        .await
        .is(204);
    let newcomers = scene.guests(2).await;
    scene
        .beside_promoters(1, async {
            wait_until(BOUND, "the next one is called", async || {
                scene.status(&guests[2]).await.body["state"] == "ready"
            })
            .await;
            let claim = Ask::post(format!("{}/claim", scene.path(&guests[2])));
            scene.send(claim.visitor(&guests[2].id)).await.is(200);
            wait_until(BOUND, "the fence is behind that", async || {
                let view = scene.view().await;
                view.journal_len == 0 && scene.stored().await.metadata.watermark >= fence + 2
            })
            .await;
        })
        .await;
    scene.go_back_to(&old).await;
    assert_eq!(scene.view().await.waiting, 4, "as it was");

    scene
        .beside_promoters(2, async {
            wait_until(BOUND, "it is put back", async || {
                scene.line_epoch().await.is_some_and(|epoch| epoch > 1)
            })
            .await;
        })
        .await;
    assert_eq!(scene.view().await.version.epoch, 2);
    scene.settled(&guests[0]).await.is_problem(410, "completed");
    scene.settled(&guests[4]).await.is_problem(410, "left");
    assert_eq!(scene.settled(&guests[2]).await.body["state"], "active");
    assert_eq!(
        scene.positions(&[guests[3].clone(), guests[5].clone()]).await,
        [1, 2]
    );
    assert_eq!(scene.positions(&newcomers).await, [3, 4]);
}

pub(crate) async fn nobody_is_promoted_by_an_order_that_is_old(on: Backend) {
    let scene = Scene::open(on, json!({ "capacity": 2, "batch": 2, "interval_seconds": 1 })).await;
    let guests = scene.guests(4).await;
    let (old, fence) = (scene.snapshot().await, scene.stored().await.metadata.watermark);
    scene.guests(1).await;
    scene
        .beside_promoters(1, async {
            wait_until(BOUND, "it is fenced", async || {
                scene.stored().await.metadata.watermark > fence
            })
            .await;
        })
        .await;
    // The next in line leaves, and somebody inside is done: the old order would call who left.
    scene
        .send(Ask::delete(scene.path(&guests[2])).visitor(&guests[2].id))
        .await
        .is(204);
    scene
        .send(scene.service(&guests[0], "complete", &json!({})))
        .await
        .is(204);
    scene.go_back_to(&old).await;
    scene
        .beside_promoters(1, async {
            wait_until(BOUND, "the right one is called", async || {
                scene.settled(&guests[3]).await.body["state"] == "ready"
            })
            .await;
        })
        .await;
    let record = scene.record(&guests[2]).await;
    assert_eq!(record.promoted_at_ms, None, "{record:?}");
}

pub(crate) async fn nor_do_calls_drive_it(on: Backend) {
    let scene = Scene::open(on, json!({ "capacity": 2, "batch": 2, "interval_seconds": 1 })).await;
    let guests = scene.guests(4).await;
    scene
        .send(scene.service(&guests[0], "complete", &json!({})))
        .await
        .is(204);
    let (old, fence) = (scene.snapshot().await, scene.stored().await.metadata.watermark);
    // The next in line leaves, and no promoter is there: the calls of the one behind bring them on.
    scene
        .send(Ask::delete(scene.path(&guests[2])).visitor(&guests[2].id))
        .await
        .is(204);
    wait_until(
        BOUND,
        "the right one is called, and the fence is behind that",
        async || {
            let state = scene.status(&guests[3]).await.body["state"].clone();
            state == "ready" && scene.stored().await.metadata.watermark > fence
        },
    )
    .await;
    scene.go_back_to(&old).await;
    let end = Instant::now() + Duration::from_secs(4);
    while Instant::now() < end {
        scene.status(&guests[3]).await;
        sleep(Duration::from_millis(100)).await;
    }
    let view = scene.view().await;
    assert_eq!((view.waiting, view.ready), (2, 0), "as it was, and there is room");
    let record = scene.record(&guests[2]).await;
    assert_eq!(record.promoted_at_ms, None, "{record:?}");
    scene
        .beside_promoters(1, async {
            wait_until(BOUND, "it is put back", async || {
                scene.settled(&guests[3]).await.body["state"] == "ready"
            })
            .await;
        })
        .await;
}

pub(crate) async fn a_line_that_was_not_lost_is_not_put_back(on: Backend) {
    let scene = Scene::open(on, json!({ "capacity": 2, "batch": 2, "interval_seconds": 1 })).await;
    scene.guests(4).await;
    scene
        .beside_promoters(3, async {
            wait_until(BOUND, "the fence rises", async || {
                scene.guests(1).await;
                scene.stored().await.metadata.watermark >= 3
            })
            .await;
        })
        .await;
    let (view, stored) = (scene.view().await, scene.stored().await);
    assert_eq!((view.version.epoch, stored.metadata.epoch), (1, 1));
}
