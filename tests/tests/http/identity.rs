//! How visitors are recognized.

use serde_json::json;
use uuid::Uuid;
use vestibule_tests::api::{ApiRequest, Backend, new_visitor_id};

crate::cases![
    a_visitor_without_an_id_gets_one_and_is_known_by_cookie,
    the_header_wins_over_the_cookie,
    an_invalid_cookie_is_ignored,
    a_visitor_id_that_could_be_guessed_is_refused,
    a_visitor_id_sent_twice_is_refused,
    a_token_of_another_visitor_is_refused,
    a_token_without_a_visitor_id_only_reads_the_status,
];

async fn a_visitor_without_an_id_gets_one_and_is_known_by_cookie(backend: &Backend) {
    let (queue, _) = backend.create_full_queue(json!({})).await;
    let first = backend.send(queue.enter_request()).await;
    let drawn = first.expect_status(201).text("visitor").to_owned();
    assert_eq!(drawn.parse::<Uuid>().expect("a UUID").get_version_num(), 4);
    let set_cookie = first.header("set-cookie").to_owned();
    let (pair, attributes) = set_cookie.split_once(';').expect("attributes");
    assert_eq!(pair, format!("{}={drawn}", backend.kind.cookie_name()));
    let is_secure = attributes.contains("; Secure");
    assert_eq!(is_secure, !backend.kind.has_no_gateway(), "{set_cookie}");
    for attribute in ["HttpOnly", "SameSite=Lax", "Path=/", "Max-Age=86400"] {
        assert!(attributes.contains(attribute), "{set_cookie}");
    }
    let again = backend.send(queue.enter_request().header("cookie", pair)).await;
    assert_eq!(again.expect_status(200).body["token"], first.body["token"]);
    assert!(again.body.get("visitor").is_none() && !again.headers.contains_key("set-cookie"));
    let by_header = backend.send(queue.enter_request().visitor(&drawn)).await;
    assert_eq!(by_header.expect_status(200).body["token"], first.body["token"]);
    if !backend.kind.has_no_gateway() {
        // Any subdomain can set a cookie without the prefix `__Host-`, so it is not read.
        let plain = pair.replace("__Host-", "");
        let other = backend.send(queue.enter_request().header("cookie", &plain)).await;
        other.expect_status(201);
    }
}

async fn the_header_wins_over_the_cookie(backend: &Backend) {
    let (queue, _) = backend.create_full_queue(json!({})).await;
    let (guest, _) = queue.enter_and_expect_created().await;
    let cookie = format!("a=b; {}={}", backend.kind.cookie_name(), new_visitor_id());
    let request = queue.enter_request().visitor(&guest.id).header("cookie", &cookie);
    let entered = backend.send(request).await;
    assert_eq!(entered.expect_status(200).text("token"), guest.token);
}

async fn an_invalid_cookie_is_ignored(backend: &Backend) {
    let (queue, _) = backend.create_full_queue(json!({})).await;
    let (guest, _) = queue.enter_and_expect_created().await;
    let name = backend.kind.cookie_name();
    let invalid = format!("{name}=admin");
    let unknown = backend
        .send(queue.enter_request().header("cookie", &invalid))
        .await;
    assert!(
        unknown.expect_status(201).body["visitor"].is_string(),
        "{unknown:?}"
    );
    let valid_behind_invalid = format!("{invalid}; x; =; {name}={}", guest.id);
    let request = queue.enter_request().header("cookie", &valid_behind_invalid);
    let known = backend.send(request).await;
    assert_eq!(known.expect_status(200).text("token"), guest.token);
}

async fn a_visitor_id_that_could_be_guessed_is_refused(backend: &Backend) {
    let queue = backend.create_queue(json!({})).await;
    let version_1 = "c232ab00-9414-11ec-b3c8-9f6bdeced846";
    for id in [
        "ada",
        "ada@example.com",
        version_1,
        "0f8fad5bd9cb4469a16570867728950e",
    ] {
        let refused = backend.send(queue.enter_request().visitor(id)).await;
        refused.expect_invalid_field("X-Visitor-Id");
    }
}

/// A proxy or a log may read the first of two headers, and Vestibule the last one.
async fn a_visitor_id_sent_twice_is_refused(backend: &Backend) {
    let (queue, active) = backend.create_full_queue(json!({})).await;
    for second in [new_visitor_id(), active.id.clone()] {
        for (first, last) in [(&second, &active.id), (&active.id, &second)] {
            for request in [
                queue.enter_request(),
                ApiRequest::get(active.path("")),
                ApiRequest::delete(active.path("")),
                ApiRequest::post(active.path("/claim")),
                ApiRequest::post(active.path("/extend")),
            ] {
                let twice = request.visitor(first).header("x-visitor-id", last);
                let refused = backend.send(twice).await;
                // A gateway that joins the two gives the server one value, which is no UUID.
                refused.expect_invalid_field("X-Visitor-Id");
            }
        }
    }
    assert_eq!(queue.get_status(&active).await.text("state"), "active");
}

async fn a_token_of_another_visitor_is_refused(backend: &Backend) {
    let (queue, active) = backend.create_full_queue(json!({})).await;
    let (waiting, _) = queue.enter_and_expect_created().await;
    for guest in [active, waiting] {
        let thief = new_visitor_id();
        for request in [
            ApiRequest::get(guest.path("")),
            ApiRequest::delete(guest.path("")),
            ApiRequest::post(guest.path("/claim")),
        ] {
            let refused = backend.send(request.visitor(&thief)).await;
            refused.expect_problem(403, "token-owner-mismatch");
        }
        let extend = ApiRequest::post(guest.path("/extend")).visitor(&thief);
        let refused = backend.send_as_service(extend).await;
        refused.expect_problem(403, "token-owner-mismatch");
        for visitor in [&*thief, "ada"] {
            let refused = queue
                .call_as_service("validate", &guest, &json!({ "visitor": visitor }))
                .await;
            refused.expect_problem(403, "token-owner-mismatch");
        }
        queue.get_status(&guest).await.expect_status(200);
    }
}

async fn a_token_without_a_visitor_id_only_reads_the_status(backend: &Backend) {
    let (queue, active) = backend.create_full_queue(json!({})).await;
    let status = backend.send(ApiRequest::get(active.path(""))).await;
    assert_eq!(status.expect_status(200).text("state"), "active");
    status.expect_absent(&["pass"]);
    for request in [
        ApiRequest::delete(active.path("")),
        ApiRequest::post(active.path("/claim")),
    ] {
        let refused = backend.send(request).await;
        refused.expect_problem(403, "visitor-required");
    }
    let status = queue.get_status(&active).await;
    assert!(status.expect_status(200).body["pass"].is_string());
}
