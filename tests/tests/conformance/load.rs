//! What the protected service says of its load.

use serde_json::{Value, json};
use vestibule_tests::{
    api::{Backend, Queue},
    edge::{Answer, Ask},
};

crate::cases![
    a_report_is_kept_for_operators,
    a_report_that_makes_no_sense_is_refused,
    only_the_protected_service_reports,
];

async fn reports(queue: &Queue<'_>, report: &Value) -> Answer {
    let ask = Ask::post(queue.path("/load")).json(report);
    queue.backend.send_as_service(ask).await
}

async fn a_report_is_kept_for_operators(backend: &Backend) {
    let queue = backend.queue(json!({})).await;
    for report in [
        json!({ "tps": 812, "latency_ms": 40, "healthy": false }),
        json!({ "tps": 0 }),
    ] {
        assert!(reports(&queue, &report).await.is(204).body.is_null());
        let kept = &queue.order(json!({ "op": "stats" })).await["load"];
        assert_eq!(kept["tps"], report["tps"], "{kept}");
        let healthy = report["healthy"].as_bool().unwrap_or(true);
        assert_eq!(kept["healthy"], healthy, "{kept}");
    }
    let nowhere = Queue {
        backend,
        id: format!("{}x", queue.id),
    };
    let nobody = reports(&nowhere, &json!({ "tps": 1 })).await;
    nobody.is_problem(404, "unknown-queue");
}

async fn a_report_that_makes_no_sense_is_refused(backend: &Backend) {
    let queue = backend.queue(json!({})).await;
    for (report, field) in [
        (json!({}), "tps"),
        (json!({ "tps": -1 }), "tps"),
        (json!({ "tps": "many" }), "tps"),
        (json!({ "tps": 1, "latency_ms": -1 }), "latency_ms"),
        (json!({ "tps": 1, "healthy": "yes" }), "healthy"),
        (json!({ "tps": 1, "load": 1 }), "load"),
    ] {
        let refused = reports(&queue, &report).await;
        backend.kind.refuses_checked_body(&refused, field);
    }
    let kept = &queue.order(json!({ "op": "stats" })).await["load"];
    assert_eq!(*kept, Value::Null);
}

async fn only_the_protected_service_reports(backend: &Backend) {
    let queue = backend.queue(json!({})).await;
    let stranger = backend
        .send(Ask::post(queue.path("/load")).json(&json!({ "tps": 1 })))
        .await;
    if backend.guards_the_service() {
        backend.kind.refused_by_gateway(&stranger, "api-key-refused");
    } else {
        // On a laptop everybody is.
        stranger.is(204);
    }
}
