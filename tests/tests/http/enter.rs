//! Entering a queue.

use serde_json::json;
use uuid::Uuid;
use vestibule_tests::api::{ApiRequest, Backend, Queue, new_visitor_id};

crate::cases![
    a_visitor_who_finds_room_is_active_at_once,
    a_visitor_who_finds_no_room_waits,
    entering_again_keeps_the_place,
    entering_again_goes_to_the_back_if_the_queue_says_so,
    visitors_are_promoted_in_the_order_in_which_they_came,
    a_draining_or_closed_queue_refuses_new_visitors,
    a_refusal_is_in_the_language_of_the_visitor,
    a_queue_is_the_same_however_its_id_is_encoded,
];

async fn a_visitor_who_finds_room_is_active_at_once(backend: &Backend) {
    let queue = backend.create_queue(json!({ "session_seconds": 100 })).await;
    let (guest, entered) = queue.enter_and_expect_created().await;
    assert_eq!(entered.text("queue"), queue.id);
    assert_eq!(entered.text("state"), "active");
    assert_eq!(guest.token.parse::<Uuid>().expect("a UUID").get_version_num(), 8);
    assert_eq!(
        entered.number("expires_at_ms"),
        entered.number("joined_at_ms") + 100_000
    );
    assert_eq!(entered.body["promoted_at_ms"], entered.body["joined_at_ms"]);
    assert_eq!(
        entered.number("retry_after_ms"),
        100_000,
        "the pass ends with the session"
    );
    assert!(entered.body["pass"].is_string(), "{entered:?}");
    assert_eq!(
        (&entered.body["durable"], &entered.body["degraded"]),
        (&json!(true), &json!(false))
    );
    assert_eq!(entered.header("cache-control"), "no-store");
    assert_eq!(entered.header("content-type"), "application/json");
    entered.expect_absent(&[
        "position",
        "waiting",
        "estimated_wait_seconds",
        "claim_by_ms",
        "visitor",
    ]);
    let found = backend.follow_location(&queue.path("/entries"), &entered).await;
    assert_eq!(found.expect_status(200).text("token"), guest.token);
    found.expect_absent(&["pass"]);
}

async fn a_visitor_who_finds_no_room_waits(backend: &Backend) {
    let (queue, _) = backend
        .create_full_queue(json!({ "interval_seconds": 10, "capacity": 100 }))
        .await;
    let (guest, waiting) = queue.enter_and_expect_created().await;
    assert_eq!(waiting.text("state"), "waiting");
    assert_eq!((waiting.number("position"), waiting.number("waiting")), (1, 1));
    assert_eq!(waiting.body["durable"], true);
    let estimate = &waiting.body["estimated_wait_seconds"];
    let (low, high) = (estimate["low"].as_u64(), estimate["high"].as_u64());
    assert!(low < high && Some(1) < high && high <= Some(12), "{waiting:?}");
    assert_eq!(waiting.number("retry_after_ms"), 250, "entering is no check-in");
    waiting.expect_absent(&["pass", "claim_by_ms", "expires_at_ms", "promoted_at_ms"]);
    let polled = queue.get_status(&guest).await;
    assert!(
        (2_000..=40_000).contains(&polled.expect_status(200).number("retry_after_ms")),
        "{polled:?}"
    );
    let found = backend.follow_location(&queue.path("/entries"), &waiting).await;
    for field in ["token", "visit", "state", "position", "joined_at_ms"] {
        assert_eq!(
            found.expect_status(200).body[field],
            waiting.body[field],
            "{field}"
        );
    }
    let status = queue.get_status(&guest).await;
    assert_eq!(status.expect_status(200).number("position"), 1);
}

async fn entering_again_keeps_the_place(backend: &Backend) {
    let (queue, first) = backend.create_full_queue(json!({})).await;
    let (guest, waiting) = queue.enter_and_expect_created().await;
    queue.enter_and_expect_created().await;
    let request = queue.enter_request().visitor(&guest.id).json(&json!({}));
    let again = backend.send(request).await;
    for field in ["token", "visit", "state", "position", "joined_at_ms"] {
        assert_eq!(
            again.expect_status(200).body[field],
            waiting.body[field],
            "{field}"
        );
    }
    assert_eq!(again.header("location"), waiting.header("location"));
    let active = queue.enter_again(&first).await;
    assert_eq!(
        (active.expect_status(200).text("state"), active.text("token")),
        ("active", first.token.as_str())
    );
}

async fn entering_again_goes_to_the_back_if_the_queue_says_so(backend: &Backend) {
    let (queue, _) = backend.create_full_queue(json!({ "re_entry": "requeue" })).await;
    let (guest, waiting) = queue.enter_and_expect_created().await;
    let (other, _) = queue.enter_and_expect_created().await;
    let moved = queue.enter_again(&guest).await;
    assert_eq!(moved.expect_status(200).text("token"), guest.token);
    assert_eq!(
        (moved.number("position"), &moved.body["durable"]),
        (2, &json!(true))
    );
    assert!(moved.number("joined_at_ms") >= waiting.number("joined_at_ms"));
    let status = queue.get_status(&other).await;
    assert_eq!(status.expect_status(200).number("position"), 1);
}

async fn visitors_are_promoted_in_the_order_in_which_they_came(backend: &Backend) {
    let (queue, mut active) = backend.create_full_queue(json!({})).await;
    let mut guests = Vec::new();
    for position in 1..=3 {
        let (guest, waiting) = queue.enter_and_expect_created().await;
        assert_eq!(waiting.number("position"), position);
        guests.push(guest);
    }
    for (ahead, guest) in guests.iter().enumerate() {
        let completed = queue.call_as_service("complete", &active, &json!({})).await;
        completed.expect_status(204);
        let ready = queue.promote_until_ready(guest).await;
        assert_eq!(ready.number("visit"), guest.visit);
        for (position, behind) in (1..).zip(&guests[ahead + 1..]) {
            let status = queue.get_status(behind).await;
            assert_eq!(
                (status.expect_status(200).text("state"), status.number("position")),
                ("waiting", position)
            );
        }
        queue.claim(guest).await.expect_status(200);
        active = guest.clone();
    }
}

async fn a_draining_or_closed_queue_refuses_new_visitors(backend: &Backend) {
    let (queue, _) = backend.create_full_queue(json!({})).await;
    let (guest, _) = queue.enter_and_expect_created().await;
    let only_known_visitors_enter = async |code: &str| {
        let newcomer = queue.enter_request().visitor(&new_visitor_id());
        backend.send(newcomer).await.expect_problem(409, code);
        queue.enter_again(&guest).await.expect_status(200);
    };
    let epoch = &queue.run_command(json!({ "op": "describe" })).await["epoch"];
    queue
        .run_command(json!({ "op": "drain", "confirm": queue.id, "epoch": epoch }))
        .await;
    only_known_visitors_enter("queue-draining").await;
    queue
        .run_command(json!({ "op": "close", "confirm": queue.id, "epoch": epoch }))
        .await;
    only_known_visitors_enter("queue-closed").await;
    queue.run_command(json!({ "op": "open" })).await;
    queue.enter_and_expect_created().await;
}

/// The code stays. What only programs meet, and what caches keep for all, is in English.
async fn a_refusal_is_in_the_language_of_the_visitor(backend: &Backend) {
    let queue = backend.create_queue(json!({ "entrance": "draining" })).await;
    let newcomer = || queue.enter_request().visitor(&new_visitor_id());
    let korean = backend
        .send(newcomer().header("accept-language", "ko-KR, en;q=0.5"))
        .await;
    korean.expect_problem(409, "queue-draining");
    assert_eq!(korean.header("content-language"), "ko");
    assert!(
        korean.text("title").contains("대기") && !korean.text("detail").is_ascii(),
        "{korean:?}"
    );
    for other in ["en-US, ko;q=0.5", "tlh"] {
        let english = backend.send(newcomer().header("accept-language", other)).await;
        english.expect_problem(409, "queue-draining");
        assert!(english.text("detail").is_ascii(), "{english:?}");
        assert!(!english.headers.contains_key("content-language"));
    }
    let malformed = ApiRequest::post(queue.path("/entries"))
        .header("accept-language", "ko")
        .visitor("not a visitor");
    assert!(backend.send(malformed).await.text("detail").is_ascii());
    let unknown = ApiRequest::get("/queues/nothing-is-here".to_owned()).header("accept-language", "ko");
    assert!(backend.send(unknown).await.text("detail").is_ascii());
}

async fn a_queue_is_the_same_however_its_id_is_encoded(backend: &Backend) {
    let (queue, _) = backend.create_full_queue(json!({})).await;
    let encoded = queue.id.replace(':', "%3A").replace('t', "%74");
    let visitor = new_visitor_id();
    let request = ApiRequest::post(format!("/queues/{encoded}/entries")).visitor(&visitor);
    let entered = backend.send(request).await;
    assert_eq!(entered.expect_status(201).text("queue"), queue.id);
    let found = backend.follow_location(&queue.path("/entries"), &entered).await;
    assert_eq!(found.expect_status(200).body["token"], entered.body["token"]);
    let again = backend.send(queue.enter_request().visitor(&visitor)).await;
    assert_eq!(again.expect_status(200).body["token"], entered.body["token"]);
    let document = backend.send(ApiRequest::get(format!("/queues/{encoded}"))).await;
    assert_eq!(document.expect_status(200).body["queue"], queue.id);
    let other = Queue {
        backend,
        id: format!("{}x", queue.id),
    };
    let unknown = backend.send(other.enter_request()).await;
    unknown.expect_problem(404, "unknown-queue");
}
