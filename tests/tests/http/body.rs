//! Invalid request bodies.

use serde_json::json;
use vestibule_tests::api::{ApiRequest, Backend, new_visitor_id};

crate::cases![
    a_body_that_is_no_json_object_is_refused,
    a_body_over_8_kib_is_refused,
    a_content_type_other_than_json_is_refused,
    an_unknown_field_is_refused_by_name,
    a_field_that_is_null_is_refused_by_name,
];

async fn a_body_that_is_no_json_object_is_refused(backend: &Backend) {
    let queue = backend.create_queue(json!({})).await;
    let before = queue.run_command(json!({ "op": "stats" })).await;
    for body in [
        "{", "{\"a\":}", "nonsense", "\0", "{}{}", "[]", "1", "null", "\"x\"",
    ] {
        let request = queue.enter_request().visitor(&new_visitor_id());
        let refused = backend.send(request.raw("application/json", body)).await;
        refused.expect_invalid_field("body");
    }
    let after = queue.run_command(json!({ "op": "stats" })).await;
    assert_eq!(after["totals"], before["totals"], "the queue did not change");
    for body in ["{}", " {\n} ", ""] {
        let request = queue.enter_request().visitor(&new_visitor_id());
        let request = request.raw("application/json; charset=utf-8", body);
        backend.send(request).await.expect_status(201);
    }
}

async fn a_body_over_8_kib_is_refused(backend: &Backend) {
    let queue = backend.create_queue(json!({})).await;
    let enter_with_body_of = |bytes: usize| {
        let body = format!("{{{}}}", " ".repeat(bytes - 2));
        let request = queue.enter_request().visitor(&new_visitor_id());
        request.raw("application/json", body)
    };
    backend
        .send(enter_with_body_of(8 * 1024))
        .await
        .expect_status(201);
    for bytes in [8 * 1024 + 1, 1024 * 1024] {
        let refused = backend.send(enter_with_body_of(bytes)).await;
        refused.expect_problem(413, "body-too-large");
    }
}

async fn a_content_type_other_than_json_is_refused(backend: &Backend) {
    let queue = backend.create_queue(json!({})).await;
    let (guest, _) = queue.enter_and_expect_created().await;
    for content_type in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/jsonp",
    ] {
        let enter = queue.enter_request().visitor(&new_visitor_id());
        let refused = backend.send(enter.raw(content_type, "{}")).await;
        refused.expect_problem(415, "unsupported-media-type");
        let complete = ApiRequest::post(guest.path("/complete"));
        let refused = backend.send_as_service(complete.raw(content_type, "{}")).await;
        refused.expect_problem(415, "unsupported-media-type");
    }
    let status = queue.get_status(&guest).await;
    assert_eq!(status.expect_status(200).text("state"), "active");
}

async fn an_unknown_field_is_refused_by_name(backend: &Backend) {
    let queue = backend.create_queue(json!({})).await;
    let (guest, _) = queue.enter_and_expect_created().await;
    for body in [json!({ "priority": 1 }), json!({ "priority": null })] {
        let enter = queue.enter_request().json(&body);
        backend.send(enter).await.expect_invalid_field("priority");
        let claim = guest.claim();
        backend
            .send(claim.json(&body))
            .await
            .expect_invalid_field("priority");
        let completed = queue.call_as_service("complete", &guest, &body).await;
        completed.expect_invalid_field("priority");
    }
    // The body of a claim never names the visitor.
    let claim = guest.claim();
    let claim = claim.json(&json!({ "visitor": guest.id }));
    backend.send(claim).await.expect_invalid_field("visitor");
}

/// The document of the API has no field that may be null, and the gateway refuses one.
async fn a_field_that_is_null_is_refused_by_name(backend: &Backend) {
    let queue = backend.create_queue(json!({})).await;
    let (guest, _) = queue.enter_and_expect_created().await;
    for field in ["visit", "visitor", "pass"] {
        let body = json!({ field: null });
        let completed = queue.call_as_service("complete", &guest, &body).await;
        completed.expect_invalid_field(field);
    }
    for field in ["visit", "seconds"] {
        let extended = queue.extend(&guest, &json!({ field: null })).await;
        extended.expect_invalid_field(field);
    }
    let status = queue.get_status(&guest).await;
    assert_eq!(status.expect_status(200).text("state"), "active");
}
