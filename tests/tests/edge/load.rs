//! What the protected service says of its load.

use serde_json::json;
use vestibule_api::config::ApiConfig;
use vestibule_domain::load::LoadReport;
use vestibule_line::QueueLine;
use vestibule_tests::edge::{Ask, EdgeUnderTest, QUEUE, event, queue, with_header};

fn load() -> Ask {
    Ask::post(format!("/queues/{QUEUE}/load"))
}

async fn kept(edge: &EdgeUnderTest) -> Option<LoadReport> {
    let view = edge.line.queue_view(&queue()).await.expect("a view");
    view.load.map(|load| load.report)
}

#[tokio::test]
async fn a_report_is_kept() {
    let edge = EdgeUnderTest::open(json!({})).await;
    assert_eq!(kept(&edge).await, None);
    edge.send(load().json(&json!({ "tps": 812, "latency_ms": 40, "healthy": false })))
        .await
        .is(204);
    let expected = LoadReport {
        tps: 812,
        latency_ms: Some(40),
        healthy: false,
    };
    assert_eq!(kept(&edge).await, Some(expected));
    edge.send(load().json(&json!({ "tps": 0 }))).await.is(204);
    let expected = LoadReport {
        tps: 0,
        latency_ms: None,
        healthy: true,
    };
    assert_eq!(
        kept(&edge).await,
        Some(expected),
        "who says nothing of it is well"
    );
}

#[tokio::test]
async fn what_is_wrong_with_a_report_is_named() {
    let edge = EdgeUnderTest::open(json!({})).await;
    for (report, field) in [
        (json!({}), "tps"),
        (json!({ "tps": null }), "tps"),
        (json!({ "tps": -1 }), "tps"),
        (json!({ "tps": 0.5 }), "tps"),
        (json!({ "tps": "12" }), "tps"),
        (json!({ "tps": 10_000_001 }), "tps"),
        (json!({ "tps": 1, "latency_ms": -1 }), "latency_ms"),
        (json!({ "tps": 1, "latency_ms": 3_600_001 }), "latency_ms"),
        (json!({ "tps": 1, "healthy": "yes" }), "healthy"),
        (json!({ "tps": 1, "load": 1 }), "load"),
        (json!([]), "body"),
    ] {
        edge.send(load().json(&report)).await.refuses(field);
    }
    edge.send(load()).await.refuses("tps");
    assert_eq!(kept(&edge).await, None);
    let elsewhere = |queue: &str| Ask::post(format!("/queues/{queue}/load")).json(&json!({ "tps": 1 }));
    edge.send(elsewhere("nobodys"))
        .await
        .is_problem(404, "unknown-queue");
    edge.send(elsewhere("a%20b")).await.refuses("queue");
}

#[tokio::test]
async fn nobody_but_the_protected_service_reports() {
    let edge = EdgeUnderTest::with(ApiConfig::default(), json!({})).await;
    let mut report = event("POST", "/queues/{queue}/load", &json!({ "queue": QUEUE }));
    report = with_header(report, "Content-Type", "application/json");
    report["body"] = json!(r#"{"tps": 5}"#);
    edge.send_event(&report).await.is_problem(403, "service-only");
    assert_eq!(kept(&edge).await, None);
    report["requestContext"]["identity"]["userArn"] = json!("arn:aws:iam::123456789012:user/shop");
    edge.send_event(&report).await.is(204);
    assert_eq!(kept(&edge).await.map(|load| load.tps), Some(5));
}
