//! Leaving a queue.

use serde_json::json;
use vestibule_tests::api::{ApiRequest, Backend};

crate::cases![
    a_waiting_visitor_leaves_and_the_others_move_up,
    a_token_that_the_queue_never_issued_is_unknown,
    a_visitor_who_left_comes_back_at_the_end_with_the_same_token,
    a_visitor_who_closes_the_page_keeps_the_place_for_15_s,
];

async fn a_waiting_visitor_leaves_and_the_others_move_up(backend: &Backend) {
    let (queue, _) = backend.create_full_queue(json!({})).await;
    let (guest, _) = queue.enter_and_expect_created().await;
    let (behind, waiting) = queue.enter_and_expect_created().await;
    assert_eq!(waiting.number("position"), 2);
    for _ in 0..2 {
        assert!(queue.leave(&guest).await.expect_status(204).body.is_null());
    }
    let ended = queue.get_status(&guest).await;
    assert_eq!(ended.expect_problem(410, "left").text("state"), "left");
    assert_eq!(ended.number("visit"), guest.visit);
    queue.claim(&guest).await.expect_problem(410, "left");
    let status = queue.get_status(&behind).await;
    assert_eq!(status.expect_status(200).number("position"), 1);
}

async fn a_token_that_the_queue_never_issued_is_unknown(backend: &Backend) {
    let queue = backend.create_queue(json!({})).await;
    let other = backend.create_queue(json!({})).await;
    let (mut guest, _) = other.enter_and_expect_created().await;
    guest.queue.clone_from(&queue.id);
    let refused = queue.get_status(&guest).await;
    refused.expect_problem(403, "token-owner-mismatch");
    let unknown = backend.send(ApiRequest::get(guest.path(""))).await;
    unknown.expect_problem(404, "unknown-entry");
    let unknown = queue.call_as_service("complete", &guest, &json!({})).await;
    unknown.expect_problem(404, "unknown-entry");
    "0f8fad5b-d9cb-869f-a165-70867728950e".clone_into(&mut guest.token);
    let unknown = backend.send(ApiRequest::get(guest.path(""))).await;
    unknown.expect_problem(404, "unknown-entry");
}

async fn a_visitor_who_left_comes_back_at_the_end_with_the_same_token(backend: &Backend) {
    let (queue, _) = backend.create_full_queue(json!({})).await;
    let (guest, first) = queue.enter_and_expect_created().await;
    queue.enter_and_expect_created().await;
    queue.leave(&guest).await.expect_status(204);
    let back = queue.enter_again(&guest).await;
    assert_eq!(back.expect_status(201).text("token"), guest.token);
    assert_eq!(back.number("position"), 2);
    assert!(
        back.number("joined_at_ms") > first.number("joined_at_ms"),
        "{back:?}"
    );
}

async fn a_visitor_who_closes_the_page_keeps_the_place_for_15_s(backend: &Backend) {
    let (queue, _) = backend.create_full_queue(json!({ "leave_on_close": true })).await;
    let (guest, entered) = queue.enter_and_expect_created().await;
    assert_eq!(entered.body["leave_on_close"], true);
    let request = ApiRequest::delete(guest.path("?closed=true")).visitor(&guest.id);
    let closing = backend.send(request).await;
    assert_eq!(closing.expect_status(202).number("leaves_in_ms"), 15_000);
    let status = queue.get_status(&guest).await;
    assert_eq!(status.expect_status(200).text("state"), "waiting");
}
