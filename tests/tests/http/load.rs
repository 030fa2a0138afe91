//! Load reports of the protected service.

use serde_json::{Value, json};
use vestibule_tests::api::{ApiRequest, ApiResponse, Backend, Queue};

crate::cases![
    a_report_is_kept_for_operators,
    an_invalid_report_is_refused_by_field,
    only_the_protected_service_reports,
    a_report_moves_an_adaptive_pace,
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
        let answer = report(&queue, &sent).await;
        assert_eq!(answer.expect_status(200).body, json!({ "acts": false }));
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
        response.expect_status(200);
    }
}

async fn a_report_moves_an_adaptive_pace(backend: &Backend) {
    let settings = json!({
        "adaptive": true, "load_measure": "latency_ms", "load_low": 100, "load_high": 500, "batch_min": 2, "batch_max": 10,
    });
    let queue = backend.create_queue(settings).await;
    let stats = async || queue.run_command(json!({ "op": "stats" })).await;
    assert_eq!(stats().await["service_down"], true, "there is no report yet");
    let without = report(&queue, &json!({ "tps": 1 })).await;
    without.expect_invalid_field("latency_ms");
    let sent = report(&queue, &json!({ "tps": 1, "latency_ms": 300 })).await;
    assert_eq!(sent.expect_status(200).body, json!({ "acts": true }));
    let stats = stats().await;
    assert_eq!(
        (&stats["batch"], &stats["service_down"]),
        (&json!(6), &json!(false))
    );
}
