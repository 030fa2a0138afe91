//! What the protected service asks.

use serde_json::json;
use vestibule_tests::{
    api::{Backend, Guest},
    edge::Ask,
};

crate::cases![
    a_visitor_may_act_by_name_or_by_pass,
    what_is_consumed_is_good_once,
    a_ready_visitor_is_claimed_by_name,
    completing_frees_the_place,
    a_session_is_extended_and_never_past_its_longest,
    only_the_protected_service_is_answered,
    whoever_proves_nothing_is_refused,
];

async fn a_visitor_may_act_by_name_or_by_pass(backend: &Backend) {
    let queue = backend.queue(json!({})).await;
    let (guest, entered) = queue.enters().await;
    let pass = entered.text("pass");
    for question in [
        json!({ "visitor": guest.id }),
        json!({ "pass": pass }),
        json!({ "visitor": guest.id, "pass": pass, "visit": guest.visit, "consume": false }),
    ] {
        let answer = queue.service("validate", &guest, &question).await;
        let expected = json!({
            "valid": true, "state": "active",
            "visit": guest.visit, "expires_at_ms": entered.body["expires_at_ms"],
        });
        assert_eq!(answer.is(200).body, expected, "{question}");
        assert_eq!(answer.header("cache-control"), "no-store");
    }
}

async fn what_is_consumed_is_good_once(backend: &Backend) {
    let queue = backend.queue(json!({})).await;
    let (by_name, _) = queue.enters().await;
    let (by_pass, entered) = queue.enters().await;
    for (guest, proof) in [
        (by_name.clone(), json!({ "visitor": by_name.id, "consume": true })),
        (by_pass, json!({ "pass": entered.text("pass"), "consume": true })),
    ] {
        let once = queue.service("validate", &guest, &proof).await;
        assert_eq!(
            (once.is(200).body["valid"].as_bool(), &once.body["durable"]),
            (Some(true), &json!(true))
        );
        queue
            .service("validate", &guest, &proof)
            .await
            .is_problem(410, "completed");
        queue.looks(&guest).await.is_problem(410, "completed");
    }
}

async fn a_ready_visitor_is_claimed_by_name(backend: &Backend) {
    let (queue, inside) = backend.full_queue(json!({})).await;
    let (guest, _) = queue.enters().await;
    queue.leaves(&inside).await.is(204);
    queue.is_promoted(&guest).await;
    let claimed = queue
        .service("validate", &guest, &json!({ "visitor": guest.id }))
        .await;
    assert_eq!(
        (claimed.is(200).text("state"), &claimed.body["durable"]),
        ("active", &json!(true))
    );
    assert!(queue.looks(&guest).await.is(200).body["pass"].is_string());
}

async fn completing_frees_the_place(backend: &Backend) {
    let (queue, inside) = backend.full_queue(json!({})).await;
    let (guest, _) = queue.enters().await;
    for _ in 0..2 {
        assert!(
            queue
                .service("complete", &inside, &json!({}))
                .await
                .is(204)
                .body
                .is_null()
        );
    }
    let gone = queue.looks(&inside).await;
    assert_eq!(gone.is_problem(410, "completed").text("state"), "completed");
    queue.is_promoted(&guest).await;
}

async fn a_session_is_extended_and_never_past_its_longest(backend: &Backend) {
    let queue = backend
        .queue(json!({ "session_seconds": 100, "session_max_seconds": 250 }))
        .await;
    let (guest, entered) = queue.enters().await;
    let began_ms = entered.number("joined_at_ms");
    let extended = async |body| {
        let ask = Ask::post(queue.of(&guest, "/extend"))
            .visitor(&guest.id)
            .json(&body);
        backend.send_as_service(ask).await
    };
    let longer = extended(json!({ "seconds": 200 })).await;
    assert!(longer.is(200).number("expires_at_ms") >= began_ms + 200_000);
    assert_eq!(
        (longer.text("state"), &longer.body["durable"]),
        ("active", &json!(true))
    );
    assert!(longer.body["pass"].is_string(), "the visitor's: {longer:?}");
    let longest = extended(json!({ "seconds": 10_000, "visit": guest.visit })).await;
    assert_eq!(longest.is(200).number("expires_at_ms"), began_ms + 250_000);
    let never_shorter = extended(json!({ "seconds": 1 })).await;
    assert_eq!(never_shorter.is(200).number("expires_at_ms"), began_ms + 250_000);

    let by_service = queue.service("extend", &guest, &json!({})).await;
    if backend.guards_the_service() {
        assert_eq!(by_service.is(200).number("expires_at_ms"), began_ms + 250_000);
        assert!(
            by_service.body.get("pass").is_none(),
            "the service is not the visitor: {by_service:?}"
        );
    } else {
        by_service.is_problem(403, "visitor-required");
    }
}

async fn only_the_protected_service_is_answered(backend: &Backend) {
    let queue = backend.queue(json!({})).await;
    let (guest, _) = queue.enters().await;
    if !backend.guards_the_service() {
        // On a laptop everybody is.
        queue
            .service("validate", &guest, &json!({ "visitor": guest.id }))
            .await
            .is(200);
        return;
    }
    for (what, body) in [
        ("validate", json!({ "visitor": guest.id })),
        ("complete", json!({})),
    ] {
        let ask = || Ask::post(queue.of(&guest, &format!("/{what}"))).json(&body);
        backend
            .kind
            .refused_by_gateway(&backend.send(ask()).await, "api-key-refused");
        let guessed = ask().header("x-api-key", "a-key-that-was-guessed");
        backend
            .kind
            .refused_by_gateway(&backend.send(guessed).await, "api-key-refused");
    }
    assert_eq!(queue.looks(&guest).await.is(200).text("state"), "active");
}

async fn whoever_proves_nothing_is_refused(backend: &Backend) {
    let queue = backend.queue(json!({})).await;
    let (guest, _) = queue.enters().await;
    let asked = async |guest: &Guest, body| queue.service("validate", guest, &body).await;
    asked(&guest, json!({})).await.refuses("visitor");
    for nobody in ["a\nb", " ada", &format!("{} ", guest.id)] {
        asked(&guest, json!({ "visitor": nobody }))
            .await
            .refuses("visitor");
    }
    for (body, field) in [
        (json!({ "visitor": 1 }), "visitor"),
        (json!({ "pass": ["x"] }), "pass"),
        (json!({ "visitor": guest.id, "consume": "yes" }), "consume"),
        (json!({ "visitor": guest.id, "consumed": true }), "consumed"),
    ] {
        backend
            .kind
            .refuses_checked_body(&asked(&guest, body).await, field);
    }
    for (body, field) in [
        (json!({ "seconds": 0 }), "seconds"),
        (json!({ "seconds": "60" }), "seconds"),
        (json!({ "second": 60 }), "second"),
    ] {
        let ask = Ask::post(queue.of(&guest, "/extend"))
            .visitor(&guest.id)
            .json(&body);
        backend.send_as_service(ask).await.refuses(field);
    }
}
