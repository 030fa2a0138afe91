//! A visitor far from the head reads the public document, and asks about the own entry when it is called.

use serde_json::{Value, json};
use vestibule_tests::in_process::{ApiRequest, ApiResponse, InProcessApi, QUEUE};

use super::{enter_and_expect_created, start_full_queue};

super::cases![
    far_from_the_head_a_visitor_is_sent_to_the_document,
    deadlines_are_also_durations,
    the_document_names_the_state_of_the_queue,
];

async fn read_document(api: &InProcessApi) -> Value {
    let path = format!("/queues/{QUEUE}");
    api.send(ApiRequest::get(path))
        .await
        .expect_status(200)
        .body
        .clone()
}

async fn far_from_the_head_a_visitor_is_sent_to_the_document() {
    let api = start_full_queue(json!({ "session_seconds": 10, "message": "soon" })).await;
    let (near, entered) = enter_and_expect_created(&api).await;
    assert!(
        entered.body["place"].is_u64() && entered.body["lane"] == 4,
        "{entered:?}"
    );
    assert!(
        entered.body.get("look_after_ms").is_none(),
        "in a short line every visitor is called"
    );
    assert_eq!(
        (entered.text("queue_state"), entered.text("message")),
        ("open", "soon")
    );
    for _ in 0..599 {
        enter_and_expect_created(&api).await;
    }
    api.promote().await;
    api.advance_seconds(2);
    let (far, _) = enter_and_expect_created(&api).await;
    let answer = api
        .send_until(
            || far.status(),
            |answer| answer.body.get("look_after_ms").is_some(),
        )
        .await;
    let look_after_ms = answer.body["look_after_ms"].as_u64().expect("a number");
    assert!(
        (540_000..=660_000).contains(&look_after_ms),
        "about ten minutes: {look_after_ms}"
    );
    let position = answer.body["position"].as_i64().expect("a number");
    let gone_ahead = answer.body["gone_ahead"].as_i64().expect("a number");
    assert!(
        answer.body["retry_after_ms"].is_u64(),
        "a client may ignore the document"
    );

    // A process renews what the document shows once a second.
    let is_far = |document: &ApiResponse| {
        document.body["lanes"]["4"]["check_in_through"].as_u64() < answer.body["place"].as_u64()
    };
    let request = || ApiRequest::get(format!("/queues/{QUEUE}"));
    let document = api.send_until(request, is_far).await.body;
    assert_eq!(document["resync_ms"], 601 * 1_000 / 300);
    let near_answer = api.send(near.status()).await;
    assert!(near_answer.body.get("look_after_ms").is_none(), "{near_answer:?}");

    // The document alone tells the position after the head has moved.
    api.advance_seconds(11);
    assert_eq!(api.promote().await.promoted, 1);
    api.advance_seconds(2);
    let is_later = |answer: &ApiResponse| answer.body["gone_ahead"] == gone_ahead + 1;
    let later = api.send_until(|| far.status(), is_later).await;
    let document = || ApiRequest::get(format!("/queues/{QUEUE}"));
    api.send_until(document, |document| {
        document.body["lanes"]["4"]["gone_ahead"] == gone_ahead + 1
    })
    .await;
    assert_eq!(later.body["position"], position - 1);
}

async fn deadlines_are_also_durations() {
    let api =
        InProcessApi::start(json!({ "capacity": 1, "session_seconds": 100, "claim_seconds": 20 })).await;
    let (active, entered) = enter_and_expect_created(&api).await;
    assert_eq!(entered.body["expires_in_ms"], 100_000);
    let (next, _) = enter_and_expect_created(&api).await;
    api.send(active.of_service("complete", &json!({})))
        .await
        .expect_status(204);
    api.advance_seconds(30);
    api.promote().await;
    api.advance_seconds(5);
    let ready = api.send(next.status()).await;
    assert_eq!(
        (ready.text("state"), &ready.body["claim_in_ms"]),
        ("ready", &json!(15_000))
    );
    api.advance_seconds(40);
    api.promote().await;
    // The process caches the time of the queue for a second.
    let is_in_grace = |answer: &ApiResponse| {
        answer.body["grace_in_ms"]
            .as_u64()
            .is_some_and(|ms| ms <= 600_000)
    };
    let missed = api.send_until(|| next.status(), is_in_grace).await;
    let left_ms = missed.expect_status(410).body["grace_in_ms"]
        .as_u64()
        .expect("within the grace");
    assert!((560_000..=600_000).contains(&left_ms), "{left_ms}");
}

async fn the_document_names_the_state_of_the_queue() {
    for (settings, state) in [
        (json!({}), "open"),
        (json!({ "paused": true }), "paused"),
        (json!({ "entrance": "draining" }), "draining"),
        (json!({ "entrance": "closed", "paused": true }), "closed"),
    ] {
        let api = InProcessApi::start(settings).await;
        let document = read_document(&api).await;
        assert_eq!(document["state"], state);
        assert_eq!(
            (&document["epoch"], &document["generation"]),
            (&json!(1), &json!(1))
        );
        assert!(document["now_ms"].is_u64());
        assert_eq!(
            (&document["refresh_near_ms"], &document["refresh_far_ms"]),
            (&json!(3_000), &json!(60_000))
        );
    }
}
