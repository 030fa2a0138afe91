//! Addresses and verbs that are not there, and ids that are none.

use axum::http::Method;
use serde_json::json;
use vestibule_tests::{api::Backend, edge::Ask};

crate::cases![
    there_is_no_such_address,
    an_address_takes_its_own_verbs_alone,
    there_is_no_such_queue,
    what_is_no_queue_id_is_refused,
    what_is_no_token_is_refused,
    every_request_has_an_id_of_its_own,
];

const TOKEN: &str = "0f8fad5b-d9cb-869f-a165-70867728950e";

async fn there_is_no_such_address(backend: &Backend) {
    let queue = backend.queue(json!({})).await;
    for path in [
        "/queues",
        "/nothing",
        &queue.path("/nothing"),
        &queue.path("/entries/x/y/z"),
    ] {
        backend
            .kind
            .has_no_such_route(&backend.send(Ask::get(path)).await);
    }
}

async fn an_address_takes_its_own_verbs_alone(backend: &Backend) {
    let queue = backend.queue(json!({})).await;
    let (guest, _) = queue.enters().await;
    let put = backend.send(Ask::new(Method::PUT, queue.path("/entries"))).await;
    backend.kind.takes_no_such_verb(&put, "POST");
    let delete = backend.send(Ask::delete(queue.of(&guest, "/claim"))).await;
    backend.kind.takes_no_such_verb(&delete, "POST");
    let get = backend.send(Ask::get(queue.of(&guest, "/validate"))).await;
    backend.kind.takes_no_such_verb(&get, "POST");
    assert_eq!(queue.looks(&guest).await.is(200).text("state"), "active");
}

async fn there_is_no_such_queue(backend: &Backend) {
    for ask in [
        Ask::get("/queues/nowhere"),
        Ask::post("/queues/nowhere/entries"),
        Ask::get(format!("/queues/nowhere/entries/{TOKEN}")),
        Ask::delete(format!("/queues/nowhere/entries/{TOKEN}")),
        Ask::post(format!("/queues/nowhere/entries/{TOKEN}/claim")),
    ] {
        backend.send(ask).await.is_problem(404, "unknown-queue");
    }
    let complete = Ask::post(format!("/queues/nowhere/entries/{TOKEN}/complete"));
    backend
        .send_as_service(complete)
        .await
        .is_problem(404, "unknown-queue");
}

async fn what_is_no_queue_id_is_refused(backend: &Backend) {
    for id in ["-a", "%7Bdemo%7D", "a%20b", "%C3%BC", "a%0Ab", &"a".repeat(129)] {
        backend
            .send(Ask::post(format!("/queues/{id}/entries")))
            .await
            .refuses("queue");
        backend
            .send(Ask::get(format!("/queues/{id}")))
            .await
            .refuses("queue");
        backend
            .send(Ask::get(format!("/queues/{id}/entries/{TOKEN}")))
            .await
            .refuses("queue");
    }
}

async fn what_is_no_token_is_refused(backend: &Backend) {
    let queue = backend.queue(json!({})).await;
    let version_4 = "0f8fad5b-d9cb-469f-a165-70867728950e";
    for token in ["x", "%7B%7D", version_4, "0f8fad5bd9cb869fa16570867728950e"] {
        let at = |below: &str| queue.path(&format!("/entries/{token}{below}"));
        backend.send(Ask::get(at(""))).await.refuses("token");
        backend.send(Ask::delete(at(""))).await.refuses("token");
        backend.send(Ask::post(at("/claim"))).await.refuses("token");
        for what in ["/validate", "/complete", "/extend"] {
            backend
                .send_as_service(Ask::post(at(what)))
                .await
                .refuses("token");
        }
    }
}

async fn every_request_has_an_id_of_its_own(backend: &Backend) {
    let queue = backend.queue(json!({})).await;
    let look = async || {
        let ask = Ask::get(queue.path("")).header("x-request-id", "mine");
        backend.send(ask).await.is(200).header("x-request-id").to_owned()
    };
    let (first, second) = (look().await, look().await);
    assert_ne!(first, "mine");
    if backend.kind.tells_requests_apart() {
        assert_ne!(first, second);
    }
}
