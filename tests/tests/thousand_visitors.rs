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
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};
use uuid::Uuid;
use vestibule_crowd::{
    checks::Faults,
    crowd::Crowd,
    door::Caller,
    http::{HttpClient, HttpDoor},
    record::VisitEnd,
    temper::Temper,
};
use vestibule_tests::{own_redis::OwnRedis, runner::Runner};

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

    let client = HttpClient::new(VISITORS).expect("the certificates of the machine");
    let crowd = Crowd::new(HttpDoor::new(client, runner.url(&format!("/queues/{queue}"))));
    let visits = (0..VISITORS).map(async |n| {
        sleep(ENTER_EVERY * u32::try_from(n).expect("a small number")).await;
        let mut visitor = crowd.arrive(Caller::anonymous(), temper(n), rand::random());
        crowd.follow(&mut visitor).await;
        assert_eq!(visitor.record.end, Some(VisitEnd::Completed));
        let entry = visitor.follower.entry().expect("the visitor was active");
        assert!(entry.pass.is_some(), "an active entry has a pass");
        visitor.record
    });
    let records = timeout(BOUND, join_all(visits))
        .await
        .expect("all visitors finish in time");
    assert_eq!(Faults::of(&records), Faults::default());
    let tokens: Vec<_> = records.into_iter().filter_map(|record| record.token).collect();

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

/// Each visitor stays for a moment.
fn temper(n: usize) -> Temper {
    Temper::honest(200.0 + [0.0, 100.0, 200.0, 300.0, 400.0][n % 5])
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
