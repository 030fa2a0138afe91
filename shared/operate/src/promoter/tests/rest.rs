//! A promoter that has nothing to do parks, in paused time.

use std::{sync::Arc, time::Duration};

use serde_json::json;
use tokio::time::{Instant, sleep};
use vestibule_domain::id::QueueId;
use vestibule_line::{Departed, Departure};
use vestibule_line_memory::MemoryLine;
use vestibule_telemetry::metrics::{ACTIVE, TICK_AGE, WAITING};

use super::{
    Scene,
    faulty::{Fault, Faulty},
    id,
    slow::{self, Slow, paced_line},
    written::Written,
};

/// The longest run of the scheduled promoter.
const MINUTE: Duration = Duration::from_mins(1);

/// Runs the promoter for at most a minute. Returns how long the run lasted.
async fn lasts(scene: &Scene) -> Duration {
    let began = Instant::now();
    scene.promoter().run_while_needed(sleep(MINUTE)).await;
    began.elapsed()
}

async fn heartbeat_ms(scene: &Scene, queue: &QueueId) -> u64 {
    scene.line.view(queue).await.expect("seen").heartbeat_ms
}

fn is_about_eleven_seconds(took: Duration) -> bool {
    (Duration::from_secs(10)..=Duration::from_secs(14)).contains(&took)
}

#[tokio::test]
async fn a_promoter_of_empty_lines_returns_early_and_leaves_no_heartbeat() {
    let scene = Scene::new(paced_line());
    let (a, _) = scene.queue("a", json!({})).await;
    let (b, _) = scene.queue("b", json!({ "paused": true })).await;
    tokio::time::pause();
    let took = lasts(&scene).await;
    assert!(is_about_eleven_seconds(took), "{took:?}");
    for queue in [&a, &b] {
        assert_eq!(
            heartbeat_ms(&scene, queue).await,
            0,
            "the next request runs a fallback tick"
        );
    }
}

#[tokio::test]
async fn a_process_that_is_its_own_promoter_goes_on() {
    let scene = Scene::new(paced_line());
    let (queue, _) = scene.queue("q", json!({})).await;
    tokio::time::pause();
    let began = Instant::now();
    scene.promoter().run(sleep(MINUTE)).await;
    assert!(began.elapsed() >= MINUTE);
    assert!(heartbeat_ms(&scene, &queue).await > 0);
}

#[tokio::test]
async fn whoever_is_in_any_line_keeps_the_promoter() {
    // The three cases have a waiting entry, a ready entry and an active entry. Each has an empty queue beside
    // it.
    for (settings, enter) in [
        (json!({ "paused": true }), 1),
        (
            json!({ "capacity": 2, "batch": 1, "interval_seconds": 1, "claim_seconds": 600 }),
            2,
        ),
        (json!({}), 1),
    ] {
        let scene = Scene::new(paced_line());
        scene.queue("empty", json!({})).await;
        let (queue, shelf) = scene.queue("q", settings.clone()).await;
        for visitor in 0..enter {
            scene.enter(&shelf, &visitor.to_string()).await;
        }
        tokio::time::pause();
        assert!(lasts(&scene).await >= MINUTE, "{settings}");
        assert!(heartbeat_ms(&scene, &queue).await > 0);
        tokio::time::resume();
    }
}

#[tokio::test]
async fn what_is_not_in_the_backup_keeps_the_promoter() {
    let scene = Scene::new(paced_line());
    let (queue, _) = scene.queue("q", json!({ "paused": true })).await;
    let change = scene.enter_unwritten(&queue, "a").await;
    let left = scene
        .line
        .leave(&queue, id(&queue, "a"), None, Departure::Leave)
        .await;
    assert!(matches!(left, Ok(Departed::Gone(_))), "{left:?}");
    scene.line.record(&queue, &change).await.expect("recorded");
    tokio::time::pause();
    // The backup takes 20 s to write the record.
    let promoter = slow::promoter(&scene, Slow::new(&scene, Duration::from_secs(20)));
    let began = Instant::now();
    promoter.run_while_needed(sleep(MINUTE)).await;
    let took = began.elapsed();
    assert!((Duration::from_secs(20)..MINUTE).contains(&took), "{took:?}");
    assert_eq!(scene.line.view(&queue).await.expect("seen").journal, 0);
}

/// The visitor enters between the promoter's last tick and the end of its run.
#[tokio::test]
async fn an_arrival_at_the_last_moment_is_served() {
    let scene = Scene::new(paced_line());
    let (queue, _) = scene.queue("q", json!({ "paused": true })).await;
    tokio::time::pause();
    let enters = async {
        sleep(Duration::from_millis(10_500)).await;
        scene.line.enter(&queue, id(&queue, "a")).await.expect("entered");
    };
    let (took, ()) = tokio::join!(lasts(&scene), enters);
    assert!(took >= MINUTE, "{took:?}");
    assert!(heartbeat_ms(&scene, &queue).await > 0);
}

#[tokio::test]
async fn each_run_looks_for_itself() {
    let scene = Scene::new(paced_line());
    let (queue, _) = scene.queue("q", json!({ "paused": true })).await;
    let promoter = scene.promoter();
    tokio::time::pause();
    promoter.run_while_needed(sleep(MINUTE)).await;
    sleep(Duration::from_secs(49)).await;
    scene.line.enter(&queue, id(&queue, "a")).await.expect("entered");
    let began = Instant::now();
    promoter.run_while_needed(sleep(MINUTE)).await;
    assert!(began.elapsed() >= MINUTE, "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_queue_that_cannot_be_ticked_keeps_the_promoter() {
    let line = Arc::new(Faulty::new(MemoryLine::new()));
    let scene = Scene::new(line.clone());
    scene.queue("broken", json!({})).await;
    line.inject("broken", Fault::Broken);
    tokio::time::pause();
    assert!(lasts(&scene).await >= MINUTE);
    assert!(
        line.calls("broken") > 50,
        "the promoter tries to the end of the run"
    );
}

/// Two alarms exist: one on the age of the last tick, and one on a minute without a report.
#[tokio::test]
async fn an_idle_stack_is_reported_on_each_minute_and_sounds_no_alarm() {
    let scene = Scene::new(paced_line());
    scene.queue("q", json!({})).await;
    let written = Written::default();
    let promoter = scene.reporter(&written);
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
