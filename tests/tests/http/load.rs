//! Load reports of the protected service.

use serde_json::{Value, json};
use vestibule_tests::api::{ApiRequest, ApiResponse, Backend, Queue};

crate::cases![
    a_report_is_kept_for_operators,
    an_invalid_report_is_refused_by_field,
    only_the_protected_service_reports,
];

async fn report(queue: &Queue<'_>, report: &Value) -> ApiResponse {
    let request = ApiRequest::post(queue.path("/load")).json(report);
    queue.backend.send_as_service(request).await
}

async fn a_report_is_kept_for_operators(backend: &Backend) {
    let queue = backend.create_queue(json!({})).await;
    for (sent, healthy) in [
        (json!({ "tps": 812, "latency_ms": 40, "healthy": false }), false),
        (json!({ "tps": 0 }), true),
    ] {
        assert!(report(&queue, &sent).await.expect_status(204).body.is_null());
        let kept = &queue.run_command(json!({ "op": "stats" })).await["load"];
        assert_eq!(
            (&kept["tps"], &kept["latency_ms"], &kept["healthy"]),
            (&sent["tps"], &sent["latency_ms"], &json!(healthy))
        );
    }
    let unknown = Queue {
        backend,
        id: format!("{}x", queue.id),
    };
    let refused = report(&unknown, &json!({ "tps": 1 })).await;
    refused.expect_problem(404, "unknown-queue");
}

async fn an_invalid_report_is_refused_by_field(backend: &Backend) {
    let queue = backend.create_queue(json!({})).await;
    for (invalid, field) in [
        (json!({}), "tps"),
        (json!({ "tps": null }), "tps"),
        (json!({ "tps": -1 }), "tps"),
        (json!({ "tps": 0.5 }), "tps"),
        (json!({ "tps": "many" }), "tps"),
        (json!({ "tps": 10_000_001 }), "tps"),
        (json!({ "tps": 1, "latency_ms": -1 }), "latency_ms"),
        (json!({ "tps": 1, "latency_ms": 3_600_001 }), "latency_ms"),
        (json!({ "tps": 1, "healthy": "yes" }), "healthy"),
        (json!({ "tps": 1, "load": 1 }), "load"),
        (json!([]), "body"),
    ] {
        let refused = report(&queue, &invalid).await;
        backend.kind.expect_invalid_body_field(&refused, field);
    }
    let without_body = ApiRequest::post(queue.path("/load"));
    let refused = backend.send_as_service(without_body).await;
    backend.kind.expect_invalid_body_field(&refused, "tps");
    let kept = &queue.run_command(json!({ "op": "stats" })).await["load"];
    assert_eq!(*kept, Value::Null);
}

async fn only_the_protected_service_reports(backend: &Backend) {
    let queue = backend.create_queue(json!({})).await;
    let request = ApiRequest::post(queue.path("/load")).json(&json!({ "tps": 1 }));
    let response = backend.send(request).await;
    if backend.guards_service_routes() {
        backend.kind.expect_gateway_refusal(&response, "api-key-refused");
    } else {
        response.expect_status(204);
    }
}
