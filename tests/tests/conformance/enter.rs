//! Getting a place in line.

use serde_json::{Value, json};
use uuid::Uuid;
use vestibule_tests::{
    api::{Backend, Queue, stranger},
    edge::Ask,
};

crate::cases![
    whoever_finds_room_is_let_in_at_once,
    whoever_finds_none_waits,
    entering_again_keeps_the_place,
    entering_again_goes_to_the_back_where_the_queue_says_so,
    those_who_come_stand_in_the_order_in_which_they_came,
    nobody_new_enters_a_queue_that_drains_or_is_closed,
    a_queue_is_the_same_however_its_id_is_encoded,
];

async fn whoever_finds_room_is_let_in_at_once(backend: &Backend) {
    let queue = backend.queue(json!({ "session_seconds": 100 })).await;
    let (guest, entered) = queue.enters().await;
    assert_eq!(entered.text("queue"), queue.id);
    assert_eq!(entered.text("state"), "active");
    assert_eq!(guest.token.parse::<Uuid>().expect("a UUID").get_version_num(), 8);
    assert_eq!(
        entered.number("expires_at_ms"),
        entered.number("joined_at_ms") + 100_000
    );
    assert_eq!(entered.body["promoted_at_ms"], entered.body["joined_at_ms"]);
    assert_eq!(entered.number("retry_after_ms"), 40_000, "two thirds of the pass");
    assert!(entered.body["pass"].is_string(), "{entered:?}");
    assert_eq!(
        (&entered.body["durable"], &entered.body["degraded"]),
        (&json!(true), &json!(false))
    );
    assert_eq!(entered.header("cache-control"), "no-store");
    assert_eq!(entered.header("content-type"), "application/json");
    for field in [
        "position",
        "waiting",
        "estimated_wait_seconds",
        "claim_by_ms",
        "visitor",
    ] {
        assert!(
            entered.body.get(field).is_none(),
            "{field} does not apply: {entered:?}"
        );
    }
    let found = backend.follow(&entered).await;
    assert_eq!(found.is(200).text("token"), guest.token);
    assert!(
        found.body.get("pass").is_none(),
        "the token alone only looks: {found:?}"
    );
}

async fn whoever_finds_none_waits(backend: &Backend) {
    let (queue, _) = backend
        .full_queue(json!({ "interval_seconds": 10, "capacity": 100 }))
        .await;
    let (guest, waiting) = queue.enters().await;
    assert_eq!(waiting.text("state"), "waiting");
    assert_eq!((waiting.number("position"), waiting.number("waiting")), (1, 1));
    assert_eq!(waiting.body["durable"], true);
    let estimate = &waiting.body["estimated_wait_seconds"];
    let (low, high) = (estimate["low"].as_u64(), estimate["high"].as_u64());
    assert!(low < high && Some(1) < high && high <= Some(12), "{waiting:?}");
    assert!(
        (2_000..=40_000).contains(&waiting.number("retry_after_ms")),
        "{waiting:?}"
    );
    for field in ["pass", "claim_by_ms", "expires_at_ms", "promoted_at_ms"] {
        assert!(
            waiting.body.get(field).is_none(),
            "{field} does not apply: {waiting:?}"
        );
    }
    let found = backend.follow(&waiting).await;
    for field in ["token", "visit", "state", "position", "joined_at_ms"] {
        assert_eq!(found.is(200).body[field], waiting.body[field], "{field}");
    }
    assert_eq!(queue.looks(&guest).await.is(200).number("position"), 1);
}

async fn entering_again_keeps_the_place(backend: &Backend) {
    let (queue, first) = backend.full_queue(json!({})).await;
    let (guest, waiting) = queue.enters().await;
    queue.enters().await;
    let again = backend
        .send(queue.entering().visitor(&guest.id).json(&json!({})))
        .await;
    for field in ["token", "visit", "state", "position", "joined_at_ms"] {
        assert_eq!(again.is(200).body[field], waiting.body[field], "{field}");
    }
    assert_eq!(again.header("location"), waiting.header("location"));
    let active = backend.send(queue.entering().visitor(&first.id)).await;
    assert_eq!(
        (active.is(200).text("state"), active.text("token")),
        ("active", first.token.as_str())
    );
}

async fn entering_again_goes_to_the_back_where_the_queue_says_so(backend: &Backend) {
    let (queue, _) = backend.full_queue(json!({ "re_entry": "requeue" })).await;
    let (guest, waiting) = queue.enters().await;
    let (other, _) = queue.enters().await;
    let moved = backend.send(queue.entering().visitor(&guest.id)).await;
    assert_eq!(moved.is(200).text("token"), guest.token);
    assert_eq!(
        (moved.number("position"), &moved.body["durable"]),
        (2, &json!(true))
    );
    assert!(moved.number("joined_at_ms") >= waiting.number("joined_at_ms"));
    assert_eq!(queue.looks(&other).await.is(200).number("position"), 1);
}

async fn those_who_come_stand_in_the_order_in_which_they_came(backend: &Backend) {
    let (queue, mut inside) = backend.full_queue(json!({})).await;
    let mut line = Vec::new();
    for position in 1..=3 {
        let (guest, waiting) = queue.enters().await;
        assert_eq!(waiting.number("position"), position);
        line.push(guest);
    }
    for (gone, guest) in line.iter().enumerate() {
        queue.service("complete", &inside, &json!({})).await.is(204);
        let ready = queue.is_promoted(guest).await;
        assert_eq!(ready.number("visit"), guest.visit);
        for (position, behind) in (1..).zip(&line[gone + 1..]) {
            let waits = queue.looks(behind).await;
            assert_eq!(
                (waits.is(200).text("state"), waits.number("position")),
                ("waiting", position)
            );
        }
        queue.claims(guest).await.is(200);
        inside = guest.clone();
    }
}

async fn nobody_new_enters_a_queue_that_drains_or_is_closed(backend: &Backend) {
    let (queue, _) = backend.full_queue(json!({})).await;
    let (guest, _) = queue.enters().await;
    let refused = async |code: &str| {
        let stranger = backend.send(queue.entering().visitor(&stranger())).await;
        stranger.is_problem(409, code);
        backend.send(queue.entering().visitor(&guest.id)).await.is(200);
    };
    queue.order(json!({ "op": "drain" })).await;
    refused("queue-draining").await;
    let epoch = &queue.order(json!({ "op": "describe" })).await["epoch"];
    queue
        .order(json!({ "op": "close", "confirm": queue.id, "epoch": epoch }))
        .await;
    refused("queue-closed").await;
    queue.order(json!({ "op": "open" })).await;
    queue.enters().await;
}

async fn a_queue_is_the_same_however_its_id_is_encoded(backend: &Backend) {
    let (queue, _) = backend.full_queue(json!({})).await;
    let encoded = queue.id.replace(':', "%3A").replace('t', "%74");
    let visitor = stranger();
    let ask = Ask::post(format!("/queues/{encoded}/entries")).visitor(&visitor);
    let entered = backend.send(ask).await;
    assert_eq!(entered.is(201).text("queue"), queue.id);
    assert!(entered.header("location").ends_with(&format!(
        "/queues/{}/entries/{}",
        queue.id,
        entered.text("token")
    )));
    assert_eq!(
        backend.follow(&entered).await.is(200).body["token"],
        entered.body["token"]
    );
    let plain = backend.send(queue.entering().visitor(&visitor)).await;
    assert_eq!(plain.is(200).body["token"], entered.body["token"]);
    let view: Value = backend
        .send(Ask::get(format!("/queues/{encoded}")))
        .await
        .is(200)
        .body
        .clone();
    assert_eq!(view["queue"], queue.id);
    let other = Queue {
        backend,
        id: format!("{}x", queue.id),
    };
    backend
        .send(other.entering())
        .await
        .is_problem(404, "unknown-queue");
}
