//! The public document of a queue.

use serde_json::json;
use vestibule_tests::{
    api::{ApiRequest, BOUND, Backend},
    waiting::poll_until,
};

crate::cases![the_public_document_shows_the_queue_and_its_changes];

async fn the_public_document_shows_the_queue_and_its_changes(backend: &Backend) {
    let settings = json!({ "message": "soon", "target_url": "https://shop.example/" });
    let (queue, _) = backend.create_full_queue(settings).await;
    queue.enter_and_expect_created().await;
    queue.enter_and_expect_created().await;
    let read = async || backend.send(ApiRequest::get(queue.path(""))).await;
    // Each environment caches the document for a second.
    let document = poll_until(BOUND, read, |document| {
        document.expect_status(200).body["waiting"] == 2
    })
    .await;
    assert_eq!(
        document.header("cache-control"),
        "public, max-age=2, stale-while-revalidate=8"
    );
    assert_eq!(document.header("content-type"), "application/json");
    let of_page = ApiRequest::get(queue.path("")).header("origin", "https://elsewhere.example");
    let for_page = backend.send(of_page).await;
    assert_eq!(for_page.header("access-control-allow-origin"), "*");
    for name in ["vary", "access-control-allow-credentials"] {
        assert!(
            !for_page.headers.contains_key(name),
            "{name} would split the cache: {for_page:?}"
        );
    }
    assert_eq!(document.text("queue"), queue.id);
    assert_eq!(
        (&document.body["rate"], &document.body["paused"]),
        (&json!(null), &json!(false))
    );
    let waits = document.body["estimated_waits"].as_array().expect("a list");
    let positions: Vec<_> = waits.iter().map(|wait| &wait["position"]).collect();
    assert_eq!(positions, [1, 2], "the whole line: {document:?}");
    for wait in waits {
        let (low, high) = (wait["low"].as_u64(), wait["high"].as_u64());
        assert!(low.expect("seconds") < high.expect("seconds"), "{wait}");
    }
    let speed = document.body["lanes"]["4"]["speed"].as_f64();
    assert_eq!(speed, Some(0.0), "no entry went past the head");
    assert_eq!(document.text("entrance"), "open");
    assert_eq!(document.text("message"), "soon");
    document.expect_absent(&["target_url"]);
    queue
        .run_command(json!({ "op": "update", "settings": { "message": "sooner" } }))
        .await;
    poll_until(BOUND, read, |document| document.text("message") == "sooner").await;
}
