//! A queue whose data another build wrote, in another layout: see `docs/adr/0019-layout-number.md`.

use serde_json::{Value, json};
use vestibule_backup::{Backup, QueueMetadata, StoredQueue};
use vestibule_domain::{configuration::LAYOUT, id::Salt};
use vestibule_tests::{
    in_process::{ApiRequest, BOUND},
    lines::{Backend, fresh_queue},
    waiting::wait_until,
};

use crate::scene::Scene;

/// Replaces the queue of the scene by one of another layout, which only the table has.
async fn open_queue_of_layout(backend: Backend, layout: u32) -> Scene {
    let mut scene = Scene::open(backend, json!({})).await;
    scene.queue = fresh_queue();
    let settings = json!({ "capacity": 1, "batch": 1, "interval_seconds": 3600 });
    let stored = StoredQueue {
        settings: settings.as_object().expect("an object").clone().into(),
        settings_order: 0,
        metadata: QueueMetadata {
            layout,
            ..QueueMetadata::new(Salt::new([7; 32]))
        },
    };
    let created = scene.backup.create_queue(&scene.queue, &stored).await;
    assert!(created.expect("an answer"));
    scene
}

async fn try_reset(scene: &Scene) -> Value {
    let queue = scene.queue.as_str();
    scene
        .try_command(json!({ "op": "reset", "queue": queue, "confirm": queue, "epoch": 1 }))
        .await
}

fn enter(scene: &Scene) -> ApiRequest {
    ApiRequest::post(format!("/queues/{}/entries", scene.queue))
        .visitor("7f9c24e8-3b12-4f0a-9d6e-5a1c2b3d4e5f")
}

pub(crate) async fn a_queue_of_an_earlier_build_is_served_after_a_reset(backend: Backend) {
    let scene = open_queue_of_layout(backend, LAYOUT - 1).await;
    scene
        .with_promoters(1, async {
            let refused = scene.send(enter(&scene)).await;
            refused.expect_problem(503, "recovering");
        })
        .await;
    assert!(
        scene.line.queue_view(&scene.queue).await.is_err(),
        "the promoter does not restore entries that it cannot read"
    );
    let queue = scene.queue.as_str();
    let restored = scene
        .try_command(json!({ "op": "restore", "queue": queue, "confirm": queue, "epoch": 1 }))
        .await;
    let detail = restored["problem"]["detail"]
        .as_str()
        .expect("a problem")
        .to_owned();
    assert!(
        detail.contains(&format!("layout {}", LAYOUT - 1)) && detail.contains("reset"),
        "{detail}"
    );

    assert_eq!(try_reset(&scene).await["ok"], json!(true));
    assert_eq!(scene.stored_queue().await.metadata.layout, LAYOUT);
    scene.send_until_served(|| enter(&scene)).await.expect_status(201);
}

pub(crate) async fn a_queue_of_a_later_build_is_left_alone(backend: Backend) {
    let scene = open_queue_of_layout(backend, LAYOUT + 1).await;
    let before = scene.stored_queue().await;
    let answer = try_reset(&scene).await;
    let detail = answer["problem"]["detail"]
        .as_str()
        .expect("a problem")
        .to_owned();
    assert!(detail.contains("a later build"), "{detail}");
    scene
        .with_promoters(1, async {
            let refused = scene.send(enter(&scene)).await;
            refused.expect_problem(503, "recovering");
        })
        .await;
    assert_eq!(scene.stored_queue().await, before);
}

/// During a deploy, a function of one build may meet what a function of the other one wrote to Redis.
pub(crate) async fn data_of_another_layout_in_redis_is_not_served(backend: Backend) {
    let mut scene = Scene::open(backend, json!({})).await;
    let config = format!("vestibule:{{{}}}:config", scene.queue);
    for layout in [Some(LAYOUT + 1), None] {
        let mut write = redis::cmd(if layout.is_some() { "HSET" } else { "HDEL" });
        write.arg(&config).arg("layout").arg(layout);
        let _: u64 = write.query_async(&mut scene.connection).await.expect("written");
        wait_until(BOUND, "the request is refused", async || {
            scene.send(enter(&scene)).await.status == 500
        })
        .await;
        let view = scene.line.queue_view(&scene.queue).await.expect_err("refused");
        assert!(view.to_string().contains("layout"), "{view}");
        assert_eq!(scene.send(enter(&scene)).await.status, 500);
    }
}
