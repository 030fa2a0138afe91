//! The routes of the protected service.

use serde_json::json;
use vestibule_tests::api::{ApiRequest, Backend};

crate::cases![
    an_active_visitor_is_valid_by_id_or_by_pass,
    a_consumed_visit_is_valid_once,
    the_same_use_repeats_its_answer,
    a_use_is_repeated_after_the_visitor_has_entered_again,
    a_ready_visitor_becomes_active_by_validation,
    completing_a_visit_frees_its_place,
    a_session_is_extended_up_to_its_longest,
    only_the_protected_service_validates_and_completes,
    a_validation_without_proof_is_refused,
    an_invalid_field_is_refused_by_name,
];

async fn an_active_visitor_is_valid_by_id_or_by_pass(backend: &Backend) {
    let queue = backend.create_queue(json!({})).await;
    let (guest, entered) = queue.enter_and_expect_created().await;
    let pass = entered.text("pass");
    for body in [
        json!({ "visitor": guest.id }),
        json!({ "pass": pass }),
        json!({ "visitor": guest.id, "pass": pass, "visit": guest.visit, "consume": false }),
    ] {
        let valid = queue.call_as_service("validate", &guest, &body).await;
        let expected = json!({
            "valid": true, "state": "active",
            "visit": guest.visit, "expires_at_ms": entered.body["expires_at_ms"],
        });
        assert_eq!(valid.expect_status(200).body, expected, "{body}");
        assert_eq!(valid.header("cache-control"), "no-store");
    }
}

async fn a_consumed_visit_is_valid_once(backend: &Backend) {
    let queue = backend.create_queue(json!({})).await;
    let (by_id, _) = queue.enter_and_expect_created().await;
    let (by_pass, entered) = queue.enter_and_expect_created().await;
    for (guest, proof) in [
        (by_id.clone(), json!({ "visitor": by_id.id, "consume": true })),
        (by_pass, json!({ "pass": entered.text("pass"), "consume": true })),
    ] {
        let valid = queue.call_as_service("validate", &guest, &proof).await;
        assert_eq!(
            (
                valid.expect_status(200).body["valid"].as_bool(),
                &valid.body["durable"]
            ),
            (Some(true), &json!(true))
        );
        let refused = queue.call_as_service("validate", &guest, &proof).await;
        refused.expect_problem(410, "completed");
        queue.get_status(&guest).await.expect_problem(410, "completed");
    }
}

async fn the_same_use_repeats_its_answer(backend: &Backend) {
    let queue = backend.create_queue(json!({})).await;
    let (guest, entered) = queue.enter_and_expect_created().await;
    let by_use = |id: &str| json!({ "pass": entered.text("pass"), "consume": true, "use": id });
    let (one, other) = (
        "6f9619ff-8b86-4d01-b42d-00cf4fc964ff",
        "0d3a5a3c-9a0e-4c3b-8d6e-1f1f6ed2b7aa",
    );
    let same = by_use(one);
    let both = tokio::join!(
        queue.call_as_service("validate", &guest, &same),
        queue.call_as_service("validate", &guest, &same),
    );
    let expected = json!({
        "valid": true, "state": "active", "durable": true,
        "visit": guest.visit, "expires_at_ms": entered.body["expires_at_ms"],
    });
    for answer in [
        both.0,
        both.1,
        queue.call_as_service("validate", &guest, &same).await,
    ] {
        assert_eq!(answer.expect_status(200).body, expected);
    }
    for refused in [
        by_use(other),
        json!({ "pass": entered.text("pass"), "consume": true }),
    ] {
        let refused = queue.call_as_service("validate", &guest, &refused).await;
        refused.expect_problem(410, "completed");
    }
    let only_look = json!({ "pass": entered.text("pass") });
    let looked = queue.call_as_service("validate", &guest, &only_look).await;
    looked.expect_problem(410, "completed");
}

async fn a_use_is_repeated_after_the_visitor_has_entered_again(backend: &Backend) {
    let queue = backend
        .create_queue(json!({ "capacity": 1000, "batch": 1000 }))
        .await;
    let (guest, entered) = queue.enter_and_expect_created().await;
    let one = "6f9619ff-8b86-4d01-b42d-00cf4fc964ff";
    let by_id = json!({ "visitor": guest.id, "consume": true, "use": one });
    let by_pass = json!({ "pass": entered.text("pass"), "consume": true, "use": one });
    let by_visit = json!({ "visitor": guest.id, "visit": guest.visit, "consume": true, "use": one });
    let first = queue.call_as_service("validate", &guest, &by_id).await;
    let first = first.expect_status(200).body.clone();
    assert_eq!(first["visit"], json!(guest.visit));

    // The next visit, and one after it. The backup keeps the use over both.
    for _ in 0..2 {
        let again = queue.enter_again(&guest).await;
        let again = again.expect_status(201);
        assert_ne!(again.body["visit"], first["visit"]);
        for body in [&by_id, &by_pass, &by_visit] {
            let repeat = queue.call_as_service("validate", &guest, body).await;
            assert_eq!(repeat.expect_status(200).body, first, "{body}");
        }
        let status = queue.get_status(&guest).await;
        assert_eq!(status.expect_status(200).text("state"), "active", "{status:?}");
        queue.complete(&guest).await.expect_status(204);
        let repeat = queue.call_as_service("validate", &guest, &by_id).await;
        assert_eq!(repeat.expect_status(200).body, first);
    }
    let other =
        json!({ "visitor": guest.id, "consume": true, "use": "0d3a5a3c-9a0e-4c3b-8d6e-1f1f6ed2b7aa" });
    let refused = queue.call_as_service("validate", &guest, &other).await;
    refused.expect_problem(410, "completed");
}

async fn a_ready_visitor_becomes_active_by_validation(backend: &Backend) {
    let (queue, active) = backend.create_full_queue(json!({})).await;
    let (guest, _) = queue.enter_and_expect_created().await;
    queue.complete(&active).await.expect_status(204);
    queue.promote_until_ready(&guest).await;
    let by_id = json!({ "visitor": guest.id });
    let claimed = queue.call_as_service("validate", &guest, &by_id).await;
    assert_eq!(
        (claimed.expect_status(200).text("state"), &claimed.body["durable"]),
        ("active", &json!(true))
    );
    let status = queue.get_status(&guest).await;
    assert!(status.expect_status(200).body["pass"].is_string());
}

async fn completing_a_visit_frees_its_place(backend: &Backend) {
    let (queue, active) = backend.create_full_queue(json!({})).await;
    let (guest, _) = queue.enter_and_expect_created().await;
    for _ in 0..2 {
        let completed = queue.call_as_service("complete", &active, &json!({})).await;
        assert!(completed.expect_status(204).body.is_null());
    }
    let ended = queue.get_status(&active).await;
    assert_eq!(ended.expect_problem(410, "completed").text("state"), "completed");
    queue.promote_until_ready(&guest).await;
}

async fn a_session_is_extended_up_to_its_longest(backend: &Backend) {
    let queue = backend
        .create_queue(json!({ "session_seconds": 100, "session_max_seconds": 250 }))
        .await;
    let (guest, entered) = queue.enter_and_expect_created().await;
    let began_ms = entered.number("joined_at_ms");
    let longer = queue.extend(&guest, &json!({ "seconds": 200 })).await;
    assert!(longer.expect_status(200).number("expires_at_ms") >= began_ms + 200_000);
    assert_eq!(
        (longer.text("state"), &longer.body["durable"]),
        ("active", &json!(true))
    );
    assert!(
        longer.body["pass"].is_string(),
        "the visitor gets a pass: {longer:?}"
    );
    let too_long = json!({ "seconds": 10_000, "visit": guest.visit });
    let longest = queue.extend(&guest, &too_long).await;
    assert_eq!(
        longest.expect_status(200).number("expires_at_ms"),
        began_ms + 250_000
    );
    let never_shorter = queue.extend(&guest, &json!({ "seconds": 1 })).await;
    assert_eq!(
        never_shorter.expect_status(200).number("expires_at_ms"),
        began_ms + 250_000
    );

    let by_service = queue.call_as_service("extend", &guest, &json!({})).await;
    by_service.expect_problem(403, "visitor-required");
}

async fn only_the_protected_service_validates_and_completes(backend: &Backend) {
    let queue = backend.create_queue(json!({})).await;
    let (guest, _) = queue.enter_and_expect_created().await;
    for (route, body, status) in [
        ("/validate", json!({ "visitor": guest.id }), 200),
        ("/complete", json!({}), 204),
    ] {
        let request = || ApiRequest::post(guest.path(route)).json(&body);
        let with_wrong_key = request().header("x-api-key", "a-key-that-was-guessed");
        for request in [request(), with_wrong_key] {
            let response = backend.send(request).await;
            if backend.guards_service_routes() {
                backend.kind.expect_gateway_refusal(&response, "api-key-refused");
            } else {
                response.expect_status(status);
            }
        }
    }
    if backend.guards_service_routes() {
        let active = queue.get_status(&guest).await;
        assert_eq!(active.expect_status(200).text("state"), "active");
    }
}

async fn a_validation_without_proof_is_refused(backend: &Backend) {
    let queue = backend.create_queue(json!({})).await;
    let (guest, _) = queue.enter_and_expect_created().await;
    let without_proof = queue.call_as_service("validate", &guest, &json!({})).await;
    without_proof.expect_invalid_field("visitor");
    for invalid in ["a\nb", " ada", &format!("{} ", guest.id)] {
        let body = json!({ "visitor": invalid });
        let refused = queue.call_as_service("validate", &guest, &body).await;
        refused.expect_invalid_field("visitor");
    }
}

async fn an_invalid_field_is_refused_by_name(backend: &Backend) {
    let queue = backend.create_queue(json!({})).await;
    let (guest, _) = queue.enter_and_expect_created().await;
    for (body, field) in [
        (json!({ "visitor": 1 }), "visitor"),
        (json!({ "pass": ["x"] }), "pass"),
        (json!({ "visitor": guest.id, "consume": "yes" }), "consume"),
        (json!({ "visitor": guest.id, "consumed": true }), "consumed"),
        (json!({ "visitor": guest.id, "consume": true, "use": "x" }), "use"),
        (json!({ "visitor": guest.id, "consume": true, "use": 7 }), "use"),
        (json!({ "visitor": guest.id, "visit": 1_u64 << 49 }), "visit"),
    ] {
        let refused = queue.call_as_service("validate", &guest, &body).await;
        backend.kind.expect_invalid_body_field(&refused, field);
    }
    for (body, field) in [
        (json!({ "seconds": 0 }), "seconds"),
        (json!({ "seconds": -5 }), "seconds"),
        (json!({ "seconds": 1e30 }), "seconds"),
        (json!({ "seconds": "60" }), "seconds"),
        (json!({ "second": 60 }), "second"),
    ] {
        queue.extend(&guest, &body).await.expect_invalid_field(field);
    }
}
