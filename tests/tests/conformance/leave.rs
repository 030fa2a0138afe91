//! Going.

use serde_json::json;
use vestibule_tests::{api::Backend, edge::Ask};

crate::cases![
    a_waiting_visitor_leaves_and_the_others_move_up,
    nobody_ever_had_this_token,
    whoever_left_comes_back_with_the_same_token_at_the_back,
];

async fn a_waiting_visitor_leaves_and_the_others_move_up(backend: &Backend) {
    let (queue, _) = backend.full_queue(json!({})).await;
    let (guest, _) = queue.enters().await;
    let (behind, waiting) = queue.enters().await;
    assert_eq!(waiting.number("position"), 2);
    for _ in 0..2 {
        assert!(queue.leaves(&guest).await.is(204).body.is_null());
    }
    let gone = queue.looks(&guest).await;
    assert_eq!(gone.is_problem(410, "left").text("state"), "left");
    assert_eq!(gone.number("visit"), guest.visit);
    assert_eq!(gone.header("cache-control"), "no-store");
    queue.claims(&guest).await.is_problem(410, "left");
    assert_eq!(queue.looks(&behind).await.is(200).number("position"), 1);
}

async fn nobody_ever_had_this_token(backend: &Backend) {
    let queue = backend.queue(json!({})).await;
    let other = backend.queue(json!({})).await;
    let (mut guest, _) = other.enters().await;
    // A token of another queue was never anybody's here.
    queue.looks(&guest).await.is_problem(403, "token-owner-mismatch");
    backend
        .send(Ask::get(queue.of(&guest, "")))
        .await
        .is_problem(404, "unknown-entry");
    queue
        .service("complete", &guest, &json!({}))
        .await
        .is_problem(404, "unknown-entry");
    "0f8fad5b-d9cb-869f-a165-70867728950e".clone_into(&mut guest.token);
    backend
        .send(Ask::get(queue.of(&guest, "")))
        .await
        .is_problem(404, "unknown-entry");
}

async fn whoever_left_comes_back_with_the_same_token_at_the_back(backend: &Backend) {
    let (queue, _) = backend.full_queue(json!({})).await;
    let (guest, first) = queue.enters().await;
    queue.enters().await;
    queue.leaves(&guest).await.is(204);
    let back = backend.send(queue.entering().visitor(&guest.id)).await;
    assert_eq!(back.is(201).text("token"), guest.token);
    assert_eq!(back.number("position"), 2);
    assert!(
        back.number("joined_at_ms") > first.number("joined_at_ms"),
        "{back:?}"
    );
}
