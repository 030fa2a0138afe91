//! From waiting to active, and to the end of the visit.

use serde_json::{Value, json};
use vestibule_tests::{
    api::{ApiRequest, ApiResponse, BOUND, Backend},
    waiting::poll_until,
};

crate::cases![
    a_visitor_waits_is_promoted_claims_and_leaves,
    a_missed_turn_goes_to_the_next_visitor_and_may_come_back,
    a_session_expires_by_itself,
    a_paused_queue_promotes_no_visitor,
    a_pause_removes_the_estimate,
];

async fn a_visitor_waits_is_promoted_claims_and_leaves(backend: &Backend) {
    let (queue, active) = backend
        .create_full_queue(json!({ "claim_seconds": 30, "session_seconds": 100 }))
        .await;
    let (guest, waiting) = queue.enter_and_expect_created().await;
    // The queue is full, and no visit has ended yet. So the turn may come at once, or when the session ends.
    let estimate = &waiting.body["estimated_wait_seconds"];
    let (low, high) = (estimate["low"].as_u64(), estimate["high"].as_u64());
    assert!(
        low <= Some(10) && Some(90) <= high && high <= Some(140),
        "{waiting:?}"
    );
    queue.claim(&guest).await.expect_problem(409, "not-your-turn");
    let by_id = json!({ "visitor": guest.id });
    let refused = queue.call_as_service("validate", &guest, &by_id).await;
    refused.expect_problem(409, "not-your-turn");

    queue.complete(&active).await.expect_status(204);
    let ready = queue.promote_until_ready(&guest).await;
    assert_eq!(ready.body["joined_at_ms"], waiting.body["joined_at_ms"]);
    assert_eq!(
        ready.number("claim_by_ms"),
        ready.number("promoted_at_ms") + 30_000
    );
    ready.expect_absent(&[
        "pass",
        "position",
        "waiting",
        "estimated_wait_seconds",
        "expires_at_ms",
    ]);
    let refused = queue.call_as_service("complete", &guest, &json!({})).await;
    refused.expect_problem(409, "not-your-turn");
    let refused = queue.extend(&guest, &json!({})).await;
    refused.expect_problem(409, "not-your-turn");

    let claimed = queue.claim(&guest).await;
    assert_eq!(claimed.expect_status(200).text("state"), "active");
    assert_eq!(claimed.number("visit"), guest.visit);
    assert_eq!(claimed.body["joined_at_ms"], waiting.body["joined_at_ms"]);
    assert_eq!(claimed.body["promoted_at_ms"], ready.body["promoted_at_ms"]);
    assert!(
        claimed.body["pass"].is_string() && claimed.body["durable"] == true,
        "{claimed:?}"
    );
    let again = queue.claim(&guest).await;
    assert_eq!(
        again.expect_status(200).body["expires_at_ms"],
        claimed.body["expires_at_ms"]
    );
    assert_ne!(
        again.text("pass"),
        claimed.text("pass"),
        "each pass has a jti of its own"
    );

    for _ in 0..2 {
        assert!(queue.leave(&guest).await.expect_status(204).body.is_null());
    }
    let ended = queue.get_status(&guest).await;
    assert_eq!(ended.expect_problem(410, "left").text("state"), "left");
    assert_eq!(ended.number("visit"), guest.visit);
    assert!(ended.number("ended_at_ms") >= claimed.number("promoted_at_ms"));
    queue.claim(&guest).await.expect_problem(410, "left");
    let refused = queue.call_as_service("validate", &guest, &by_id).await;
    refused.expect_problem(410, "left");
}

/// Waits for the shortest time to claim that a queue may set, by the line's own clock.
async fn a_missed_turn_goes_to_the_next_visitor_and_may_come_back(backend: &Backend) {
    let (queue, active) = backend.create_full_queue(json!({ "claim_seconds": 10 })).await;
    let (absent, _) = queue.enter_and_expect_created().await;
    let (next, _) = queue.enter_and_expect_created().await;
    queue.complete(&active).await.expect_status(204);
    let ready = queue.promote_until_ready(&absent).await;
    let promoted = queue.promote_until_ready(&next).await;
    assert!(
        promoted.number("promoted_at_ms") >= ready.number("claim_by_ms"),
        "{promoted:?}"
    );
    let late = queue.claim(&absent).await;
    assert_eq!(late.expect_problem(410, "expired").text("state"), "expired");
    let by_id = json!({ "visitor": absent.id });
    let refused = queue.call_as_service("validate", &absent, &by_id).await;
    refused.expect_problem(410, "expired");
    queue.claim(&next).await.expect_status(200);

    // Within the grace, the visitor gets the old place back, ahead of all who entered since.
    assert!(
        late.number("grace_until_ms") >= ready.number("claim_by_ms"),
        "{late:?}"
    );
    let (newcomer, _) = queue.enter_and_expect_created().await;
    let back = queue.enter_again(&absent).await;
    assert_eq!(back.expect_status(200).number("visit"), absent.visit);
    assert_eq!(
        (back.number("position"), back.number("joined_at_ms")),
        (1, ready.number("joined_at_ms"))
    );
    assert_eq!(
        (&back.body["durable"], &back.body["retry_after_ms"]),
        (&json!(true), &json!(250))
    );
    queue.get_status(&absent).await.expect_status(200);
    let status = queue.get_status(&newcomer).await;
    assert_eq!(status.expect_status(200).number("position"), 2);
    queue.complete(&next).await.expect_status(204);
    queue.promote_until_ready(&absent).await;
    queue.claim(&absent).await.expect_status(200);
}

async fn a_session_expires_by_itself(backend: &Backend) {
    let queue = backend.create_queue(json!({ "session_seconds": 1 })).await;
    let (guest, _) = queue.enter_and_expect_created().await;
    let ended = poll_until(
        BOUND,
        async || queue.get_status(&guest).await,
        |status| status.status == 410,
    )
    .await;
    assert_eq!(ended.expect_problem(410, "expired").text("state"), "expired");
    queue.claim(&guest).await.expect_problem(410, "expired");
    queue.leave(&guest).await.expect_status(204);
    queue.enter_again(&guest).await.expect_status(201);
}

async fn a_paused_queue_promotes_no_visitor(backend: &Backend) {
    let queue = backend
        .create_queue(json!({ "paused": true, "interval_seconds": 1 }))
        .await;
    let (guest, waiting) = queue.enter_and_expect_created().await;
    assert_eq!(waiting.text("state"), "waiting");
    waiting.expect_absent(&["estimated_wait_seconds"]);
    let promotion = queue.run_command(json!({ "op": "promote", "count": 1 })).await;
    assert_eq!(promotion["promoted"], 0, "{promotion}");
    let status = queue.get_status(&guest).await;
    assert_eq!(status.expect_status(200).text("state"), "waiting");
    let document = backend.send(ApiRequest::get(queue.path(""))).await;
    assert_eq!(document.expect_status(200).body["paused"], true);
    queue.run_command(json!({ "op": "resume" })).await;
    queue.promote_until_ready(&guest).await;
    queue.claim(&guest).await.expect_status(200);
}

async fn a_pause_removes_the_estimate(backend: &Backend) {
    let (queue, _) = backend
        .create_full_queue(json!({ "interval_seconds": 3600, "capacity": 100 }))
        .await;
    let (guest, waiting) = queue.enter_and_expect_created().await;
    let estimate = |response: &ApiResponse| -> Option<Value> {
        response
            .expect_status(200)
            .body
            .get("estimated_wait_seconds")
            .cloned()
    };
    assert!(waiting.body["estimated_wait_seconds"].is_object(), "{waiting:?}");
    queue.run_command(json!({ "op": "pause" })).await;
    // Each environment caches the state of a queue for a second.
    let read = async || queue.get_status(&guest).await;
    poll_until(BOUND, read, |status| estimate(status).is_none()).await;
}
