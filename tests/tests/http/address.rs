//! Paths, methods and ids that do not exist or are invalid.

use axum::http::Method;
use serde_json::json;
use vestibule_tests::api::{ApiRequest, Backend, Guest, new_visitor_id};

crate::cases![
    an_unknown_path_is_refused,
    a_method_that_a_path_lacks_is_refused,
    an_unknown_queue_is_not_found,
    an_invalid_queue_id_is_refused,
    an_invalid_token_is_refused,
    a_slash_at_the_end_leads_to_the_route,
    every_request_gets_an_id_that_the_client_cannot_choose,
];

const TOKEN: &str = "0f8fad5b-d9cb-869f-a165-70867728950e";

async fn an_unknown_path_is_refused(backend: &Backend) {
    let queue = backend.create_queue(json!({})).await;
    for path in [
        "/nothing/at/all",
        &queue.path("/nothing"),
        &queue.path("/entries/x/y/z"),
    ] {
        let response = backend.send(ApiRequest::get(path)).await;
        backend.kind.expect_unknown_route(&response);
    }
    // A path of one segment is that of a file of the page.
    for path in ["/nothing", "/index.html.map", "/queues"] {
        let response = backend.send(ApiRequest::get(path)).await;
        if response.status == 404 {
            response.expect_problem(404, "unknown-route");
        } else {
            backend.kind.expect_unknown_route(&response);
        }
    }
}

async fn a_method_that_a_path_lacks_is_refused(backend: &Backend) {
    let queue = backend.create_queue(json!({})).await;
    let (guest, _) = queue.enter_and_expect_created().await;
    for (request, allowed) in [
        (
            ApiRequest::new(Method::PUT, queue.path("/entries")),
            "GET,HEAD,POST",
        ),
        (ApiRequest::delete(guest.path("/claim")), "POST"),
        (ApiRequest::get(guest.path("/validate")), "POST"),
    ] {
        let response = backend.send(request).await;
        backend.kind.expect_method_not_allowed(&response, allowed);
    }
    let status = queue.get_status(&guest).await;
    assert_eq!(status.expect_status(200).text("state"), "active");
}

async fn an_unknown_queue_is_not_found(backend: &Backend) {
    let document = backend.send(ApiRequest::get("/queues/nowhere")).await;
    document.expect_absent_document(404, "unknown-queue");
    for request in [
        ApiRequest::post("/queues/nowhere/entries"),
        ApiRequest::get(format!("/queues/nowhere/entries/{TOKEN}")),
        ApiRequest::delete(format!("/queues/nowhere/entries/{TOKEN}")),
        ApiRequest::post(format!("/queues/nowhere/entries/{TOKEN}/claim")),
    ] {
        backend.send(request).await.expect_problem(404, "unknown-queue");
    }
    let complete = ApiRequest::post(format!("/queues/nowhere/entries/{TOKEN}/complete"));
    let refused = backend.send_as_service(complete).await;
    refused.expect_problem(404, "unknown-queue");
}

async fn an_invalid_queue_id_is_refused(backend: &Backend) {
    for id in ["-a", "%7Bdemo%7D", "a%20b", "%C3%BC", "a%0Ab", &"a".repeat(129)] {
        for request in [
            ApiRequest::post(format!("/queues/{id}/entries")),
            ApiRequest::get(format!("/queues/{id}")),
            ApiRequest::get(format!("/queues/{id}/entries/{TOKEN}")),
        ] {
            backend.send(request).await.expect_invalid_field("queue");
        }
        let load = ApiRequest::post(format!("/queues/{id}/load")).json(&json!({ "tps": 1 }));
        backend.send_as_service(load).await.expect_invalid_field("queue");
    }
}

async fn an_invalid_token_is_refused(backend: &Backend) {
    let queue = backend.create_queue(json!({})).await;
    let version_4 = "0f8fad5b-d9cb-469f-a165-70867728950e";
    for token in ["x", "%7B%7D", version_4, "0f8fad5bd9cb869fa16570867728950e"] {
        let path = |below: &str| queue.path(&format!("/entries/{token}{below}"));
        for request in [
            ApiRequest::get(path("")),
            ApiRequest::delete(path("")),
            ApiRequest::post(path("/claim")),
            ApiRequest::post(path("/extend")),
        ] {
            backend.send(request).await.expect_invalid_field("token");
        }
        for route in ["/validate", "/complete"] {
            let request = ApiRequest::post(path(route));
            backend
                .send_as_service(request)
                .await
                .expect_invalid_field("token");
        }
    }
}

async fn a_slash_at_the_end_leads_to_the_route(backend: &Backend) {
    if !backend.kind.routes_a_trailing_slash() {
        return;
    }
    let queue = backend.create_queue(json!({})).await;
    for path in [queue.path("/"), "/.well-known/jwks.json/".to_owned()] {
        backend.send(ApiRequest::get(path)).await.expect_status(200);
    }
    let (entries, id) = (queue.path("/entries/"), new_visitor_id());
    let entered = backend.send(ApiRequest::post(&entries).visitor(&id)).await;
    let guest = Guest::from_response(id, entered.expect_status(201));
    // The reference to the entry is right, although the path has a segment more.
    let entry = backend.follow_location(&entries, &entered).await;
    assert_eq!(entry.expect_status(200).text("token"), guest.token);
    let status = ApiRequest::get(guest.path("/?wait=0")).visitor(&guest.id);
    backend.send(status).await.expect_status(200);
    let claim = ApiRequest::post(guest.path("/claim/")).visitor(&guest.id);
    backend.send(claim).await.expect_status(200);

    // The links of a page are relative to its address, so a browser goes to the address without the slash.
    let address = format!("{entries}?lang=ko");
    for browser in [ApiRequest::get(&address), ApiRequest::post(&address)] {
        let sent = backend.send(browser.header("accept", "text/html")).await;
        assert_eq!(sent.expect_status(308).header("location"), "../entries?lang=ko");
        assert_eq!(
            (sent.header("cache-control"), sent.header("vary")),
            ("no-store", "accept")
        );
    }
    let claim = ApiRequest::post(guest.path("/claim/")).header("accept", "text/html");
    let sent = backend.send(claim).await;
    assert_eq!(sent.expect_status(308).header("location"), "../claim");
    let unknown = backend.send(ApiRequest::get(queue.path("/nothing/"))).await;
    backend.kind.expect_unknown_route(&unknown);
}

async fn every_request_gets_an_id_that_the_client_cannot_choose(backend: &Backend) {
    let queue = backend.create_queue(json!({})).await;
    let request_id = async || {
        let request = ApiRequest::get(queue.path("")).header("x-request-id", "mine");
        let response = backend.send(request).await;
        response.expect_status(200).header("x-request-id").to_owned()
    };
    let (first, second) = (request_id().await, request_id().await);
    assert_ne!(first, "mine");
    if backend.kind.draws_request_ids() {
        assert_ne!(first, second);
    }
}
