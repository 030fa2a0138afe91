//! A Redis whose memory is full refuses new entries. Existing entries can still claim and end, which frees memory, and
//! operators can still brake.

use std::{path::Path, time::Duration};

use serde_json::{Value, json};
use tokio::time::sleep;
use vestibule_domain::call_limit::CallLimit;
use vestibule_line::{
    Arrival, CallOutcome, ClaimOutcome, EvictionPolicy, LeaveOutcome, LeaveReason, LineError,
};
use vestibule_tests::{
    api::new_visitor_id,
    lines::{configuration, fresh_queue, tick_order, visitor},
    own_redis::OwnRedis,
    runner::Runner,
};

const QUEUE: &str = "q";
/// The shortest pause that a visitor of a full queue is told, in seconds. It is longer than that of an outage.
const PAUSE_MIN_SECONDS: u64 = 10;

/// A runner on the server with a queue that has one active visitor and two in line. Returns the last one's token.
async fn line_up(server: &OwnRedis, dir: &Path) -> (Runner, String) {
    let runner = Runner::start(dir, &["--demo-visitors", "0", "--redis", &server.url()]).expect("it starts");
    let settings = json!({ "capacity": 1, "batch": 1, "interval_seconds": 1, "session_seconds": 3600 });
    let create = json!({ "op": "create", "queue": QUEUE, "settings": settings });
    runner.run_command(create).await;
    for _ in 0..2 {
        runner.enter(QUEUE, &new_visitor_id()).await;
    }
    let last = runner.enter(QUEUE, &new_visitor_id()).await;
    let token = last["token"].as_str().expect("a token").to_owned();
    (runner, token)
}

/// Sends a report of the protected service's load, which the line must take.
async fn report_load(runner: &Runner, report: Value) {
    let url = runner.url(&format!("/queues/{QUEUE}/load"));
    let answer = runner
        .http()
        .post(url)
        .json(&report)
        .send()
        .await
        .expect("an answer");
    assert_eq!(answer.status(), 200, "{report}");
}

#[tokio::test]
async fn the_eviction_policy_is_known_if_redis_tells() {
    let server = OwnRedis::start();
    let line = server.line().await;
    let read = async || line.eviction_policy().await.expect("an answer");
    assert_eq!(read().await, EvictionPolicy::NoEviction);
    server.run(&["config", "set", "maxmemory-policy", "allkeys-lru"]);
    let evicts = EvictionPolicy::Evicts("allkeys-lru".to_owned());
    assert_eq!(read().await, evicts);
    server.run(&["acl", "setuser", "default", "-info"]);
    assert_eq!(read().await, EvictionPolicy::Unknown);
}

#[tokio::test]
async fn a_full_redis_refuses_new_entries_and_serves_the_others() {
    let server = OwnRedis::start();
    let (line, queue) = (server.line().await, fresh_queue());
    let mut settings = vestibule_domain::settings::Settings {
        capacity: 2,
        batch: 2,
        ..Default::default()
    };
    line.configure(&queue, &configuration(&settings), true)
        .await
        .expect("created");
    for number in 1..=4 {
        line.enter(&queue, visitor(number), Arrival::Ordinary)
            .await
            .expect("the server has free memory");
        line.check_in(&queue, visitor(number)).await.expect("an answer");
    }
    settings.capacity = 3;
    settings.batch = 10;
    line.configure(&queue, &configuration(&settings), false)
        .await
        .expect("configured");
    server.fill();

    let refused = line.enter(&queue, visitor(5), Arrival::Ordinary).await;
    assert!(matches!(refused, Err(LineError::Full(_))), "{refused:?}");

    let left = line
        .leave(&queue, visitor(1), None, LeaveReason::Complete)
        .await
        .expect("an active entry can end");
    let LeaveOutcome::Ended(end) = left else {
        panic!("{left:?}")
    };
    line.acknowledge(&queue, &[], &[end.visit_end().expect("an end")])
        .await
        .expect("an end can be acknowledged");
    sleep(Duration::from_millis(1_100)).await;
    assert!(
        line.promote(&queue, tick_order(10))
            .await
            .expect("promotion continues")
            .promoted
            > 0
    );
    let claimed = line.claim(&queue, visitor(3)).await.expect("a claim succeeds");
    assert!(matches!(claimed, ClaimOutcome::Active { .. }), "{claimed:?}");
    let called = line.take_call(&queue, visitor(3), CallLimit::default()).await;
    assert_eq!(called.expect("a visitor may call"), CallOutcome::Counted);
    line.append_to_journal(&queue, &end)
        .await
        .expect("an acknowledged change is kept");
}

#[tokio::test]
async fn a_newcomer_learns_that_the_queue_is_full() {
    let (server, dir) = (OwnRedis::start(), tempfile::tempdir().expect("a folder"));
    let (runner, _) = line_up(&server, dir.path()).await;
    server.fill();
    let enter = runner
        .http()
        .post(runner.url(&format!("/queues/{QUEUE}/entries")));
    let refused = enter.json(&json!({})).send().await.expect("an answer");
    assert_eq!(refused.status(), 503);
    let pause = refused.headers()["retry-after"].to_str().expect("text");
    assert!(
        pause.parse::<u64>().expect("seconds") >= PAUSE_MIN_SECONDS,
        "{pause}"
    );
    let problem: Value = refused.json().await.expect("JSON");
    assert_eq!(problem["code"], "queue-full");
    let ended = runner.stop("TERM", Duration::from_mins(1)).await;
    assert!(ended.contains("line-unavailable"), "the log: {ended}");
}

/// Each order is in force at once. `run_command` fails if the line did not take it.
#[tokio::test]
async fn the_brakes_act_on_a_full_redis() {
    let (server, dir) = (OwnRedis::start(), tempfile::tempdir().expect("a folder"));
    let (runner, last) = line_up(&server, dir.path()).await;
    server.fill();
    let order = async |op: &str, more: Value| {
        let mut command = json!({ "op": op, "queue": QUEUE });
        command
            .as_object_mut()
            .expect("an object")
            .extend(more.as_object().expect("an object").clone());
        runner.run_command(command).await
    };
    let in_force = async |name: &str| order("describe", json!({})).await["settings"][name].take();
    order("pause", json!({})).await;
    assert_eq!(in_force("paused").await, true);
    order("resume", json!({})).await;
    let certain = json!({ "confirm": QUEUE, "epoch": 1 });
    order("drain", certain.clone()).await;
    assert_eq!(in_force("entrance").await, "draining");
    order("open", json!({})).await;
    for (name, value) in [("capacity", 5), ("capacity", 1), ("queue_limit", 2)] {
        order("update", json!({ "settings": { name: value } })).await;
        assert_eq!(in_force(name).await, value);
    }
    order("lane", json!({ "token": last, "lane": 0 })).await;
    order("block", json!({ "token": last, "for_seconds": 60 })).await;
    let adaptive = json!({ "adaptive": true, "batch_min": 1, "batch_max": 5, "load_low": 1, "load_high": 2 });
    order("update", json!({ "settings": adaptive })).await;
    report_load(&runner, json!({ "healthy": false })).await;
    report_load(&runner, json!({ "tps": 1 })).await;
    assert_eq!(order("stats", json!({})).await["load"]["tps"], 1);
    order("evict", json!({ "token": last, "confirm": QUEUE, "epoch": 1 })).await;
    order("close", certain.clone()).await;
    order("finish", certain).await;
    assert_eq!(in_force("entrance").await, "finished");
}
