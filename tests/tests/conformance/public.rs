//! What everybody may see.

use serde_json::json;
use vestibule_tests::{
    api::{BOUND, Backend},
    edge::Ask,
    waiting::poll_until,
};

crate::cases![everybody_may_see_how_the_queue_stands];

async fn everybody_may_see_how_the_queue_stands(backend: &Backend) {
    let settings = json!({ "message": "soon", "target_url": "https://shop.example/" });
    let (queue, _) = backend.full_queue(settings).await;
    queue.enters().await;
    queue.enters().await;
    let look = async || backend.send(Ask::get(queue.path(""))).await;
    // A second old at most, in each environment that may answer.
    let view = poll_until(BOUND, look, |view| view.is(200).body["waiting"] == 2).await;
    assert_eq!(view.header("cache-control"), "public, max-age=2");
    assert_eq!(view.header("content-type"), "application/json");
    assert_eq!(view.text("queue"), queue.id);
    assert_eq!(
        (&view.body["rate"], &view.body["paused"]),
        (&json!(null), &json!(false))
    );
    assert_eq!(view.text("entrance"), "open");
    assert_eq!(
        (view.text("message"), view.text("target_url")),
        ("soon", "https://shop.example/")
    );
    queue
        .order(json!({ "op": "update", "settings": { "message": "sooner" } }))
        .await;
    poll_until(BOUND, look, |view| view.text("message") == "sooner").await;
}
