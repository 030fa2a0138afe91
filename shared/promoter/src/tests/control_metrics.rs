//! The metrics of what the operator decides: capacity and pace, and the end that follows from them.

use std::time::Duration;

use serde_json::json;
use tokio::time::sleep;
use vestibule_line::Arrival;
use vestibule_telemetry::metrics::{CAPACITY, EXPECTED_END, PACE_PER_MINUTE};

use super::{Fixture, captured_metrics::CapturedMetrics, entry_id, slow_backup::paced_line};

#[tokio::test]
async fn capacity_pace_and_expected_end_are_written() {
    let scene = Fixture::new(paced_line());
    let settings = json!({ "capacity": 1_000, "batch": 10, "interval_seconds": 10, "presence_seconds": 0 });
    let (queue, _) = scene.create_queue("q", settings.clone()).await;
    for visitor in 0..100 {
        let id = entry_id(&queue, &visitor.to_string());
        let entered = scene.line.enter(&queue, id, Arrival::Ordinary).await;
        entered.expect("entered");
    }
    let written = CapturedMetrics::default();
    let promoter = scene.promoter_with_metrics(&written);
    tokio::time::pause();
    promoter.run(sleep(Duration::from_secs(35))).await;
    assert_eq!(written.last(CAPACITY), 1_000);
    assert_eq!(written.last(PACE_PER_MINUTE), 60);
    // Each ten seconds take ten of the hundred, and the range has some seconds on either side.
    let ends = written.values(EXPECTED_END);
    assert!(ends.iter().all(|ms| (30_000..=150_000).contains(ms)), "{ends:?}");
    assert!(ends.last() < ends.first(), "{ends:?}");

    // A pause has no end in sight.
    let mut paused = settings;
    paused["paused"] = json!(true);
    scene.replace_stored_settings(&queue, paused).await;
    let known = written.values(EXPECTED_END).len();
    promoter.run(sleep(Duration::from_secs(35))).await;
    assert_eq!(written.last(PACE_PER_MINUTE), 0);
    assert!(written.values(EXPECTED_END).len() <= known + 1);
}
