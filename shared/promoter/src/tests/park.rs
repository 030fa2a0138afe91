//! A promoter that has nothing to do parks, in paused time.

use std::{sync::Arc, time::Duration};

use serde_json::json;
use tokio::time::{Instant, sleep};
use vestibule_domain::id::QueueId;
use vestibule_faults::{Fault, Faults};
use vestibule_line::{Arrival, LeaveOutcome, LeaveReason, Line};
use vestibule_telemetry::metrics::{ACTIVE, TICK_AGE, WAITING};

use super::{
    Fixture,
    captured_metrics::CapturedMetrics,
    entry_id,
    slow_backup::{self, paced_line, slow_backup},
};

/// The longest run of the scheduled promoter.
const MINUTE: Duration = Duration::from_mins(1);

/// Runs the promoter for at most a minute. Returns how long the run lasted.
async fn run_for_at_most_a_minute(scene: &Fixture) -> Duration {
    let began = Instant::now();
    scene.promoter().run_while_needed(sleep(MINUTE)).await;
    began.elapsed()
}

async fn heartbeat_ms(scene: &Fixture, queue: &QueueId) -> u64 {
    scene.line.queue_view(queue).await.expect("seen").heartbeat_ms
}

fn is_about_eleven_seconds(took: Duration) -> bool {
    (Duration::from_secs(10)..=Duration::from_secs(14)).contains(&took)
}

#[tokio::test]
async fn empty_queues_park_the_promoter_and_clear_heartbeats() {
    let scene = Fixture::new(paced_line());
    let (a, _) = scene.create_queue("a", json!({})).await;
    let (b, _) = scene.create_queue("b", json!({ "paused": true })).await;
    tokio::time::pause();
    let took = run_for_at_most_a_minute(&scene).await;
    assert!(is_about_eleven_seconds(took), "{took:?}");
    for queue in [&a, &b] {
        assert_eq!(
            heartbeat_ms(&scene, queue).await,
            0,
            "the next request runs a fallback tick"
        );
    }
}

/// It parks the empty queue, and not itself.
#[tokio::test]
async fn plain_run_never_ends_early() {
    let scene = Fixture::new(paced_line());
    let (queue, _) = scene.create_queue("q", json!({})).await;
    let (busy, partition) = scene.create_queue("busy", json!({ "paused": true })).await;
    scene.enter(&partition, "a").await;
    tokio::time::pause();
    let began = Instant::now();
    scene.promoter().run(sleep(3 * MINUTE)).await;
    assert!(began.elapsed() >= 3 * MINUTE);
    assert!(heartbeat_ms(&scene, &busy).await > 0);
    let view = scene.line.queue_view(&queue).await.expect("seen");
    let tick_age_ms = view.now_ms - view.last_tick.at_ms;
    assert!(
        tick_age_ms <= 61_000,
        "the empty queue was ticked {tick_age_ms} ms ago"
    );
}

#[tokio::test]
async fn entry_in_any_queue_prevents_parking() {
    // The three cases have a waiting entry, a ready entry and an active entry. Each has an empty
    // queue beside it.
    for (settings, enter) in [
        (json!({ "paused": true }), 1),
        (
            json!({ "capacity": 2, "batch": 1, "interval_seconds": 1, "claim_seconds": 600 }),
            2,
        ),
        (json!({}), 1),
    ] {
        let scene = Fixture::new(paced_line());
        scene.create_queue("empty", json!({})).await;
        let (queue, partition) = scene.create_queue("q", settings.clone()).await;
        for visitor in 0..enter {
            scene.enter(&partition, &visitor.to_string()).await;
        }
        tokio::time::pause();
        assert!(run_for_at_most_a_minute(&scene).await >= MINUTE, "{settings}");
        assert!(heartbeat_ms(&scene, &queue).await > 0);
        tokio::time::resume();
    }
}

#[tokio::test]
async fn unflushed_journal_prevents_parking() {
    let scene = Fixture::new(paced_line());
    let (queue, _) = scene.create_queue("q", json!({ "paused": true })).await;
    let change = scene.enter_unwritten(&queue, "a").await;
    let left = scene
        .line
        .leave(&queue, entry_id(&queue, "a"), None, LeaveReason::Leave)
        .await;
    assert!(matches!(left, Ok(LeaveOutcome::Ended(_))), "{left:?}");
    scene
        .line
        .append_to_journal(&queue, &change)
        .await
        .expect("recorded");
    tokio::time::pause();
    // The backup takes 20 s to write the record.
    let promoter = slow_backup::promoter(&scene, slow_backup(&scene, Duration::from_secs(20)));
    let began = Instant::now();
    promoter.run_while_needed(sleep(MINUTE)).await;
    let took = began.elapsed();
    assert!((Duration::from_secs(20)..MINUTE).contains(&took), "{took:?}");
    assert_eq!(scene.line.queue_view(&queue).await.expect("seen").journal_len, 0);
}

/// The visitor enters between the promoter's last tick and the end of its run.
#[tokio::test]
async fn visitor_entering_before_parking_is_served() {
    let scene = Fixture::new(paced_line());
    let (queue, _) = scene.create_queue("q", json!({ "paused": true })).await;
    tokio::time::pause();
    let enters = async {
        sleep(Duration::from_millis(10_500)).await;
        scene
            .line
            .enter(&queue, entry_id(&queue, "a"), Arrival::Ordinary)
            .await
            .expect("entered");
    };
    let (took, ()) = tokio::join!(run_for_at_most_a_minute(&scene), enters);
    assert!(took >= MINUTE, "{took:?}");
    assert!(heartbeat_ms(&scene, &queue).await > 0);
}

#[tokio::test]
async fn new_run_forgets_the_emptiness_of_the_last() {
    let scene = Fixture::new(paced_line());
    let (queue, _) = scene.create_queue("q", json!({ "paused": true })).await;
    let promoter = scene.promoter();
    tokio::time::pause();
    promoter.run_while_needed(sleep(MINUTE)).await;
    sleep(Duration::from_secs(49)).await;
    scene
        .line
        .enter(&queue, entry_id(&queue, "a"), Arrival::Ordinary)
        .await
        .expect("entered");
    let began = Instant::now();
    promoter.run_while_needed(sleep(MINUTE)).await;
    assert!(began.elapsed() >= MINUTE, "{:?}", began.elapsed());
}

#[tokio::test]
async fn failing_tick_prevents_parking() {
    let faults = Faults::default();
    let scene = Fixture::new(Line::in_process().with_tap(Arc::new(faults.clone())));
    scene.create_queue("broken", json!({})).await;
    faults.fail_for_queue("promote", "broken", Fault::Unavailable);
    tokio::time::pause();
    assert!(run_for_at_most_a_minute(&scene).await >= MINUTE);
    assert!(
        faults.calls_for_queue("promote", "broken") > 50,
        "the promoter tries to the end of the run"
    );
}

/// Two alarms exist: one on the age of the last tick, and one on a minute without a report.
#[tokio::test]
async fn idle_stack_reports_each_minute_and_raises_no_alarm() {
    let scene = Fixture::new(paced_line());
    scene.create_queue("q", json!({})).await;
    let written = CapturedMetrics::default();
    let promoter = scene.promoter_with_metrics(&written);
    tokio::time::pause();
    for minute in 1..=10 {
        let began = Instant::now();
        promoter.run_while_needed(sleep(MINUTE)).await;
        assert!(is_about_eleven_seconds(began.elapsed()), "{:?}", began.elapsed());
        assert_eq!(
            written.values(WAITING).len(),
            minute,
            "one in the {minute}. minute"
        );
        sleep(MINUTE.saturating_sub(began.elapsed())).await;
    }
    let ages = written.values(TICK_AGE);
    assert!(
        ages.iter().all(|ms| *ms < 10_000),
        "no tick was due in between: {ages:?}"
    );
    assert_eq!(written.last(ACTIVE), 0);
}
