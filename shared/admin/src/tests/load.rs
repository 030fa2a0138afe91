//! What `stats` shows of the protected service's load.

use serde_json::json;
use vestibule_domain::load::LoadReport;

use super::{AdminFixture, queue};

#[tokio::test]
async fn stats_show_the_last_load_report_and_its_age() {
    let desk = AdminFixture::with_queue(json!({})).await;
    let stats = || desk.run(json!({ "op": "stats", "queue": "q" }));
    assert_eq!(stats().await["load"], json!(null));
    let report = LoadReport {
        tps: Some(812),
        latency_ms: Some(40),
        healthy: true,
    };
    desk.admin
        .line
        .record_load(&queue(), &report)
        .await
        .expect("kept");
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
