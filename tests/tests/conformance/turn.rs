//! From the line to the inside.

use serde_json::json;
use vestibule_tests::{
    api::{BOUND, Backend},
    edge::Ask,
    waiting::poll_until,
};

crate::cases![
    a_visitor_waits_is_promoted_claims_and_goes,
    a_turn_that_nobody_takes_goes_to_the_next_and_comes_back,
    a_session_ends_by_itself,
    nobody_is_promoted_while_the_queue_is_paused,
];

async fn a_visitor_waits_is_promoted_claims_and_goes(backend: &Backend) {
    let (queue, inside) = backend
        .full_queue(json!({ "claim_seconds": 30, "session_seconds": 100 }))
        .await;
    let (guest, waiting) = queue.enters().await;
    queue.claims(&guest).await.is_problem(409, "not-your-turn");
    let by_name = json!({ "visitor": guest.id });
    queue
        .service("validate", &guest, &by_name)
        .await
        .is_problem(409, "not-your-turn");

    queue.leaves(&inside).await.is(204);
    let ready = queue.is_promoted(&guest).await;
    assert_eq!(ready.body["joined_at_ms"], waiting.body["joined_at_ms"]);
    assert_eq!(
        ready.number("claim_by_ms"),
        ready.number("promoted_at_ms") + 30_000
    );
    assert!(ready.body.get("pass").is_none(), "not claimed yet: {ready:?}");
    for field in ["position", "waiting", "estimated_wait_seconds", "expires_at_ms"] {
        assert!(
            ready.body.get(field).is_none(),
            "{field} does not apply: {ready:?}"
        );
    }
    queue
        .service("complete", &guest, &json!({}))
        .await
        .is_problem(409, "not-your-turn");

    let claimed = queue.claims(&guest).await;
    assert_eq!(claimed.is(200).text("state"), "active");
    assert_eq!(claimed.number("visit"), guest.visit);
    assert_eq!(claimed.body["joined_at_ms"], waiting.body["joined_at_ms"]);
    assert_eq!(claimed.body["promoted_at_ms"], ready.body["promoted_at_ms"]);
    assert!(
        claimed.body["pass"].is_string() && claimed.body["durable"] == true,
        "{claimed:?}"
    );
    let again = queue.claims(&guest).await;
    assert_eq!(again.is(200).body["expires_at_ms"], claimed.body["expires_at_ms"]);
    assert_ne!(
        again.text("pass"),
        claimed.text("pass"),
        "each has a jti of its own"
    );

    for _ in 0..2 {
        assert!(queue.leaves(&guest).await.is(204).body.is_null());
    }
    let gone = queue.looks(&guest).await;
    assert_eq!(gone.is_problem(410, "completed").text("state"), "completed");
    assert_eq!(gone.number("visit"), guest.visit);
    assert!(gone.number("ended_at_ms") >= claimed.number("promoted_at_ms"));
    queue.claims(&guest).await.is_problem(410, "completed");
    queue
        .service("validate", &guest, &by_name)
        .await
        .is_problem(410, "completed");
}

/// Waits for the shortest time that a queue may give, by the line's own clock.
async fn a_turn_that_nobody_takes_goes_to_the_next_and_comes_back(backend: &Backend) {
    let (queue, inside) = backend.full_queue(json!({ "claim_seconds": 10 })).await;
    let (sleeper, _) = queue.enters().await;
    let (next, _) = queue.enters().await;
    queue.leaves(&inside).await.is(204);
    let ready = queue.is_promoted(&sleeper).await;
    let promoted = queue.is_promoted(&next).await;
    assert!(
        promoted.number("promoted_at_ms") >= ready.number("claim_by_ms"),
        "{promoted:?}"
    );
    let late = queue.claims(&sleeper).await;
    assert_eq!(late.is_problem(410, "expired").text("state"), "expired");
    let by_name = json!({ "visitor": sleeper.id });
    queue
        .service("validate", &sleeper, &by_name)
        .await
        .is_problem(410, "expired");
    queue.claims(&next).await.is(200);

    // Back in time, they stand ahead of whoever came since.
    assert!(
        late.number("grace_until_ms") >= ready.number("claim_by_ms"),
        "{late:?}"
    );
    let (newcomer, _) = queue.enters().await;
    let back = backend.send(queue.entering().visitor(&sleeper.id)).await;
    assert_eq!(back.is(200).number("visit"), sleeper.visit);
    assert_eq!(
        (back.number("position"), back.number("joined_at_ms")),
        (1, ready.number("joined_at_ms"))
    );
    assert_eq!(back.body["durable"], true);
    assert_eq!(queue.looks(&newcomer).await.is(200).number("position"), 2);
    queue.leaves(&next).await.is(204);
    queue.is_promoted(&sleeper).await;
    queue.claims(&sleeper).await.is(200);
}

async fn a_session_ends_by_itself(backend: &Backend) {
    let queue = backend.queue(json!({ "session_seconds": 1 })).await;
    let (guest, _) = queue.enters().await;
    let gone = poll_until(
        BOUND,
        async || queue.looks(&guest).await,
        |answer| answer.status == 410,
    )
    .await;
    assert_eq!(gone.is_problem(410, "expired").text("state"), "expired");
    queue.claims(&guest).await.is_problem(410, "expired");
    queue.leaves(&guest).await.is(204);
    // And everybody may come again.
    backend.send(queue.entering().visitor(&guest.id)).await.is(201);
}

async fn nobody_is_promoted_while_the_queue_is_paused(backend: &Backend) {
    let queue = backend
        .queue(json!({ "paused": true, "interval_seconds": 1 }))
        .await;
    let (guest, waiting) = queue.enters().await;
    assert_eq!(waiting.text("state"), "waiting");
    assert!(
        waiting.body.get("estimated_wait_seconds").is_none(),
        "nobody can say: {waiting:?}"
    );
    let promoted = queue.order(json!({ "op": "promote", "count": 1 })).await;
    assert_eq!(promoted["promoted"], 0, "{promoted}");
    assert_eq!(queue.looks(&guest).await.is(200).text("state"), "waiting");
    let view = backend.send(Ask::get(queue.path(""))).await;
    assert_eq!(view.is(200).body["paused"], true);
    queue.order(json!({ "op": "resume" })).await;
    queue.is_promoted(&guest).await;
    queue.claims(&guest).await.is(200);
}
