//! A thousand visitors over HTTP: each is served once, in the order of entering, and capacity and pace are
//! never exceeded.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::{StreamExt, future::join_all, stream};
use reqwest::RequestBuilder;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};
use uuid::Uuid;
use vestibule_tests::{
    own_redis::OwnRedis,
    runner::{Runner, send_until_served},
};

const VISITORS: usize = 1_000;
/// They enter one after the other, so that each first poll comes in time on a busy machine, too: a visitor whose first poll
/// is late is passed by.
const ENTER_EVERY: Duration = Duration::from_millis(10);
const CAPACITY: u64 = 100;
const BATCH: u64 = 40;
/// A thousand commands at once would be answered too late by a busy machine.
const COMMANDS_AT_ONCE: usize = 50;
/// 1,000 visitors at 40 a second take 25 s.
const BOUND: Duration = Duration::from_secs(150);

#[tokio::test(flavor = "multi_thread")]
async fn all_visitors_pass_in_order_with_the_line_in_memory() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let runner = Runner::start(dir.path(), &["--demo-visitors", "0"]).expect("the runner starts");
    send_a_thousand_visitors(Arc::new(runner)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn all_visitors_pass_in_order_with_the_line_in_redis() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let redis = OwnRedis::start();
    let runner = Runner::start(dir.path(), &["--demo-visitors", "0", "--redis", &redis.url()])
        .expect("the runner starts");
    send_a_thousand_visitors(Arc::new(runner)).await;
}

async fn send_a_thousand_visitors(runner: Arc<Runner>) {
    let queue = format!("crowd:{}", Uuid::new_v4());
    let settings =
        json!({ "capacity": CAPACITY, "batch": BATCH, "interval_seconds": 1, "claim_seconds": 60 });
    runner
        .run_command(json!({ "op": "create", "queue": queue, "settings": settings }))
        .await;
    let watcher = OccupancyWatcher::start(runner.clone(), queue.clone());

    let visits = (0..VISITORS).map(|n| run_visit(runner.clone(), queue.clone(), n));
    let tokens = timeout(BOUND, join_all(visits))
        .await
        .expect("all visitors finish in time");

    let max_occupancy = watcher.max_occupancy().await;
    assert!(
        max_occupancy <= CAPACITY,
        "{max_occupancy} were ready and active at once"
    );
    let distinct: std::collections::HashSet<_> = tokens.iter().collect();
    assert_eq!(distinct.len(), VISITORS, "each visitor has an entry of their own");

    let totals = runner.run_command(json!({ "op": "stats", "queue": queue })).await["totals"].take();
    assert_eq!(totals["entered"], json!(VISITORS));
    assert_eq!(totals["completed"], json!(VISITORS));
    assert_eq!(totals["no_shows"], json!(0));
    let admitted = number(&totals["claimed"]) + number(&totals["fast_tracked"]);
    assert_eq!(admitted, VISITORS as u64, "a visitor was admitted twice");
    check_order_and_pace(&runner, &queue, &tokens).await;
}

/// One visitor: enters, polls as told, claims, stays for a moment and completes the visit. Returns the token.
async fn run_visit(runner: Arc<Runner>, queue: String, n: usize) -> String {
    sleep(ENTER_EVERY * u32::try_from(n).expect("a small number")).await;
    let visitor = Uuid::new_v4().to_string();
    let mut entry = runner.enter(&queue, &visitor).await;
    let token = entry["token"]
        .as_str()
        .expect("the answer has a token")
        .to_owned();
    let entry_url = runner.url(&format!("/queues/{queue}/entries/{token}"));
    while entry["state"] == "waiting" {
        sleep(Duration::from_millis(number(&entry["retry_after_ms"]))).await;
        let poll = || {
            let request = runner.http().get(format!("{entry_url}?wait=20"));
            request.header("X-Visitor-Id", &visitor)
        };
        entry = read_entry(poll).await;
    }
    if entry["state"] == "ready" {
        let claim = || {
            let request = runner.http().post(format!("{entry_url}/claim"));
            request.header("X-Visitor-Id", &visitor).json(&json!({}))
        };
        entry = read_entry(claim).await;
    }
    assert_eq!(entry["state"], "active", "{entry}");
    assert!(entry["pass"].is_string(), "an active entry has a pass");
    sleep(Duration::from_millis(200 + n as u64 % 5 * 100)).await;
    let complete = || {
        let request = runner.http().post(format!("{entry_url}/complete"));
        request.json(&json!({ "visit": entry["visit"] }))
    };
    assert_eq!(send_until_served(complete).await.status(), 204);
    token
}

async fn read_entry(build: impl Fn() -> RequestBuilder) -> Value {
    let answer = send_until_served(build).await;
    answer.json().await.expect("the answer is JSON")
}

/// Checks the durable records: a visitor with the lower score was promoted first, and the pace was never
/// exceeded.
async fn check_order_and_pace(runner: &Runner, queue: &str, tokens: &[String]) {
    let records = stream::iter(tokens).map(|token| flushed_record(runner, queue, token));
    let records: Vec<Value> = records.buffered(COMMANDS_AT_ONCE).collect().await;
    let mut places: Vec<_> = records
        .iter()
        .map(|r| (number(&r["score"]), number(&r["promoted_at_ms"])))
        .collect();
    places.sort_unstable();
    for pair in places.windows(2) {
        assert!(
            pair[0].1 <= pair[1].1,
            "{pair:?}: the later visitor was promoted first"
        );
    }
    let start_ms = places[0].1;
    for (before, (_, at_ms)) in places.iter().enumerate() {
        let most = BATCH + (at_ms - start_ms) * BATCH / 1_000;
        assert!(
            before as u64 <= most,
            "{before} were promoted within {} ms",
            at_ms - start_ms
        );
    }
}

/// The record of an entry once the journal is flushed.
async fn flushed_record(runner: &Runner, queue: &str, token: &str) -> Value {
    for _ in 0..100 {
        let seen = runner
            .run_command(json!({ "op": "inspect", "queue": queue, "token": token }))
            .await;
        if seen["record"]["promoted_at_ms"].is_u64() && seen["record"]["state"] == "completed" {
            return seen["record"].clone();
        }
        sleep(Duration::from_millis(100)).await;
    }
    panic!("the record of {token} is not complete after 10 s");
}

fn number(value: &Value) -> u64 {
    value
        .as_u64()
        .unwrap_or_else(|| panic!("{value} is a whole number"))
}

/// Reads the number of ready and active entries again and again.
struct OccupancyWatcher {
    done: Arc<AtomicBool>,
    task: tokio::task::JoinHandle<u64>,
}

impl OccupancyWatcher {
    fn start(runner: Arc<Runner>, queue: String) -> Self {
        let done = Arc::new(AtomicBool::new(false));
        let task = tokio::spawn({
            let done = done.clone();
            async move {
                let mut max_occupancy = 0;
                while !done.load(Ordering::Relaxed) {
                    let stats = runner.run_command(json!({ "op": "stats", "queue": queue })).await;
                    max_occupancy = max_occupancy.max(number(&stats["ready"]) + number(&stats["active"]));
                    sleep(Duration::from_millis(20)).await;
                }
                max_occupancy
            }
        });
        Self { done, task }
    }

    async fn max_occupancy(self) -> u64 {
        self.done.store(true, Ordering::Relaxed);
        self.task.await.expect("the watcher does not panic")
    }
}
