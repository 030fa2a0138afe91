//! Bodies that are none of ours.

use serde_json::json;
use vestibule_tests::{
    api::{Backend, stranger},
    edge::Ask,
};

crate::cases![
    what_is_no_json_object_is_refused,
    a_body_is_of_eight_kibibytes_at_most,
    only_json_is_taken,
    a_field_that_nobody_asked_for_is_named,
];

async fn what_is_no_json_object_is_refused(backend: &Backend) {
    let queue = backend.queue(json!({})).await;
    for body in ["{", "{\"a\":}", "nonsense", "{}{}", "[]", "1", "null", "\"x\""] {
        let ask = queue
            .entering()
            .visitor(&stranger())
            .raw("application/json", body);
        backend.send(ask).await.refuses("body");
    }
    for fine in ["{}", " {\n} ", ""] {
        let ask = queue
            .entering()
            .visitor(&stranger())
            .raw("application/json; charset=utf-8", fine);
        backend.send(ask).await.is(201);
    }
}

async fn a_body_is_of_eight_kibibytes_at_most(backend: &Backend) {
    let queue = backend.queue(json!({})).await;
    let padded = |bytes: usize| {
        let body = format!("{{{}}}", " ".repeat(bytes - 2));
        queue
            .entering()
            .visitor(&stranger())
            .raw("application/json", body)
    };
    backend.send(padded(8 * 1024)).await.is(201);
    for large in [8 * 1024 + 1, 1024 * 1024] {
        backend
            .send(padded(large))
            .await
            .is_problem(413, "body-too-large");
    }
}

async fn only_json_is_taken(backend: &Backend) {
    let queue = backend.queue(json!({})).await;
    let (guest, _) = queue.enters().await;
    for other in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/jsonp",
    ] {
        let ask = queue.entering().visitor(&stranger()).raw(other, "{}");
        backend.send(ask).await.is_problem(415, "unsupported-media-type");
        let ask = Ask::post(queue.of(&guest, "/complete")).raw(other, "{}");
        backend
            .send_as_service(ask)
            .await
            .is_problem(415, "unsupported-media-type");
    }
    assert_eq!(queue.looks(&guest).await.is(200).text("state"), "active");
}

async fn a_field_that_nobody_asked_for_is_named(backend: &Backend) {
    let queue = backend.queue(json!({})).await;
    let (guest, _) = queue.enters().await;
    for body in [json!({ "priority": 1 }), json!({ "priority": null })] {
        backend
            .send(queue.entering().json(&body))
            .await
            .refuses("priority");
        let claim = Ask::post(queue.of(&guest, "/claim")).visitor(&guest.id);
        backend.send(claim.json(&body)).await.refuses("priority");
        queue.service("complete", &guest, &body).await.refuses("priority");
    }
}
