//! What `stats` shows of the protected service's load.

use serde_json::json;
use vestibule_domain::load::LoadReport;

use super::{Desk, queue};

#[tokio::test]
async fn the_last_load_report_is_shown_with_its_age() {
    let desk = Desk::with_queue(json!({})).await;
    let stats = || desk.done(json!({ "op": "stats", "queue": "q" }));
    assert_eq!(stats().await["load"], json!(null));
    let report = LoadReport {
        tps: 812,
        latency_ms: Some(40),
        healthy: true,
    };
    desk.admin.line.keep_load(&queue(), &report).await.expect("kept");
    let load = stats().await["load"].take();
    assert!(
        load["age_ms"].as_u64().is_some_and(|age_ms| age_ms < 60_000),
        "{load}"
    );
    assert_eq!(
        (&load["tps"], &load["latency_ms"], &load["healthy"]),
        (&json!(812), &json!(40), &json!(true))
    );
}
