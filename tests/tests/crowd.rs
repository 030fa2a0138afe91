//! A crowd of a thousand over HTTP, from the door to the end: everybody gets through, in the order in which they came,
//! never more at once than the capacity, never faster than the pace, nobody twice.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};
use uuid::Uuid;
use vestibule_tests::{runner::Runner, servers::url};

const VISITORS: usize = 1_000;
const CAPACITY: u64 = 50;
const BATCH: u64 = 20;
/// 1,000 visitors at 20 a second take 50 s.
const BOUND: Duration = Duration::from_secs(150);

#[tokio::test(flavor = "multi_thread")]
async fn everybody_gets_through_in_order_with_the_line_in_memory() {
    let dir = tempfile::tempdir().expect("a folder");
    let runner = Runner::start(dir.path(), &["--demo-visitors", "0"]).expect("it starts");
    a_thousand(Arc::new(runner)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn everybody_gets_through_in_order_with_the_line_in_redis() {
    let dir = tempfile::tempdir().expect("a folder");
    let redis = url("TEST_REDIS_URL");
    let runner = Runner::start(dir.path(), &["--demo-visitors", "0", "--redis", &redis]).expect("it starts");
    a_thousand(Arc::new(runner)).await;
}

async fn a_thousand(runner: Arc<Runner>) {
    let queue = format!("crowd:{}", Uuid::new_v4());
    let settings =
        json!({ "capacity": CAPACITY, "batch": BATCH, "interval_seconds": 1, "claim_seconds": 60 });
    runner
        .order(json!({ "op": "create", "queue": queue, "settings": settings }))
        .await;
    let watch = Watch::start(runner.clone(), queue.clone());

    let crowd = (0..VISITORS).map(|n| visit(runner.clone(), queue.clone(), n));
    let tokens = timeout(BOUND, join_all(crowd))
        .await
        .expect("everybody gets through in time");

    let worst = watch.worst().await;
    assert!(worst <= CAPACITY, "{worst} were ready and active at once");
    let distinct: std::collections::HashSet<_> = tokens.iter().collect();
    assert_eq!(distinct.len(), VISITORS, "one place each");

    let totals = runner.order(json!({ "op": "stats", "queue": queue })).await["totals"].take();
    assert_eq!(totals["entered"], json!(VISITORS));
    assert_eq!(totals["completed"], json!(VISITORS));
    assert_eq!(totals["no_shows"], json!(0));
    let let_in = number(&totals["claimed"]) + number(&totals["fast_tracked"]);
    assert_eq!(let_in, VISITORS as u64, "nobody twice");
    in_order_and_in_pace(&runner, &queue, &tokens).await;
}

/// One visitor: enters, polls as told, claims, is served for a moment, and is done. Answers the token.
async fn visit(runner: Arc<Runner>, queue: String, n: usize) -> String {
    let visitor = Uuid::new_v4().to_string();
    let mut entry = runner.enter(&queue, &visitor).await;
    let token = entry["token"].as_str().expect("a token").to_owned();
    let place = runner.url(&format!("/queues/{queue}/entries/{token}"));
    while entry["state"] == "waiting" {
        sleep(Duration::from_millis(number(&entry["retry_after_ms"]))).await;
        entry = runner.status(&queue, &token, 20).await.expect("answered");
    }
    if entry["state"] == "ready" {
        let claim = runner
            .http()
            .post(format!("{place}/claim"))
            .header("X-Visitor-Id", &visitor)
            .json(&json!({}));
        entry = claim.send().await.expect("answered").json().await.expect("JSON");
    }
    assert_eq!(entry["state"], "active", "{entry}");
    assert!(entry["pass"].is_string(), "whoever is let in can prove it");
    sleep(Duration::from_millis(200 + n as u64 % 5 * 100)).await;
    let complete = runner
        .http()
        .post(format!("{place}/complete"))
        .json(&json!({ "visit": entry["visit"] }));
    assert_eq!(complete.send().await.expect("answered").status(), 204);
    token
}

/// By the durable records: whoever has the lower place was let in first, and no second let in more than the pace allows.
async fn in_order_and_in_pace(runner: &Runner, queue: &str, tokens: &[String]) {
    let records = join_all(tokens.iter().map(|token| settled(runner, queue, token))).await;
    let mut places: Vec<_> = records
        .iter()
        .map(|r| (number(&r["score"]), number(&r["promoted_at_ms"])))
        .collect();
    places.sort_unstable();
    for pair in places.windows(2) {
        assert!(pair[0].1 <= pair[1].1, "{pair:?}: the later one was let in first");
    }
    let start_ms = places[0].1;
    for (before, (_, at_ms)) in places.iter().enumerate() {
        let most = BATCH + (at_ms - start_ms) * BATCH / 1_000;
        assert!(
            before as u64 <= most,
            "{before} were let in within {} ms",
            at_ms - start_ms
        );
    }
}

/// The record of an entry once the journal has brought it there.
async fn settled(runner: &Runner, queue: &str, token: &str) -> Value {
    for _ in 0..100 {
        let seen = runner
            .order(json!({ "op": "inspect", "queue": queue, "token": token }))
            .await;
        if seen["record"]["promoted_at_ms"].is_u64() && seen["record"]["state"] == "completed" {
            return seen["record"].clone();
        }
        sleep(Duration::from_millis(100)).await;
    }
    panic!("the record of {token} was never complete");
}

fn number(value: &Value) -> u64 {
    value
        .as_u64()
        .unwrap_or_else(|| panic!("{value} is a whole number"))
}

/// Looks all the time how many are ready and active.
struct Watch {
    done: Arc<AtomicBool>,
    looking: tokio::task::JoinHandle<u64>,
}

impl Watch {
    fn start(runner: Arc<Runner>, queue: String) -> Self {
        let done = Arc::new(AtomicBool::new(false));
        let looking = tokio::spawn({
            let done = done.clone();
            async move {
                let mut worst = 0;
                while !done.load(Ordering::Relaxed) {
                    let stats = runner.order(json!({ "op": "stats", "queue": queue })).await;
                    worst = worst.max(number(&stats["ready"]) + number(&stats["active"]));
                    sleep(Duration::from_millis(20)).await;
                }
                worst
            }
        });
        Self { done, looking }
    }

    async fn worst(self) -> u64 {
        self.done.store(true, Ordering::Relaxed);
        self.looking.await.expect("it looked to the end")
    }
}
