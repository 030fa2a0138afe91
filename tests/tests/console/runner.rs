//! What the console of the runner shows of a queue with visitors.

use std::time::Duration;

use reqwest::StatusCode;
use serde_json::{Value, json};
use vestibule_tests::{
    runner::Runner, stack_console::await_overview, template::read_text, waiting::wait_until,
};

use crate::{QUEUE, start_runner};

const BOUND: Duration = Duration::from_mins(1);

async fn get(runner: &Runner, path: &str) -> (StatusCode, Value) {
    let request = runner.http().get(runner.console.url(path));
    let answer = request.send().await.expect("answered");
    (answer.status(), answer.json().await.expect("JSON"))
}

async fn send_command(runner: &Runner, command: &Value) -> Value {
    let request = runner.http().post(runner.console.url("admin")).json(command);
    let answer = request.send().await.expect("answered");
    assert_eq!(answer.status(), 200, "{command}");
    answer.json().await.expect("JSON")
}

/// One visitor is inside, and this many wait.
async fn fill_queue(runner: &Runner, waiting: u128) {
    let settings = json!({ "capacity": 1, "batch": 2, "interval_seconds": 3, "session_seconds": 3_600 });
    let create = json!({ "op": "create", "queue": QUEUE, "settings": settings });
    assert_eq!(send_command(runner, &create).await["ok"], true);
    for visitor in 0..=waiting {
        runner
            .enter(
                QUEUE,
                &uuid::Uuid::from_u128(visitor | 4 << 76 | 8 << 60).to_string(),
            )
            .await;
    }
}

fn find_queue<'a>(overview: &'a Value, queue: &str) -> Option<&'a Value> {
    let queues = overview["queues"].as_array().expect("queues");
    queues.iter().find(|row| row["queue"] == queue)
}

#[tokio::test]
async fn overview_shows_queues_and_health() {
    let (_dir, runner) = start_runner();
    fill_queue(&runner, 2).await;
    let overview = await_overview(&runner.console, |overview| {
        let row = find_queue(overview, QUEUE).map(|queue| &queue["row"]["waiting"]);
        row == Some(&json!(2)) && overview["health"]["tick_age_ms"].is_u64()
    })
    .await;
    let queue = find_queue(&overview, QUEUE).expect("the queue");
    assert_eq!(
        (&queue["row"]["active"], &queue["row"]["state"]),
        (&json!(1), &json!("open"))
    );
    assert_eq!(
        queue["waiting"].as_array().expect("points").last(),
        Some(&json!(2))
    );
    assert!(find_queue(&overview, "demo:1").is_some());
    assert_eq!(overview["interval_seconds"], 5);
    assert_eq!(
        overview["deployment"],
        json!({ "kind": "local", "name": "local", "region": null, "page": true, "page_url": "/", "right": "end" })
    );
    let health = &overview["health"];
    assert!(
        health["line_ms"].is_f64() && health["backup_ms"].is_f64(),
        "{health}"
    );
    assert_eq!(health["problem"], Value::Null);
    let age_ms =
        overview["now_ms"].as_u64().expect("a time") - overview["sampled_at_ms"].as_u64().expect("a time");
    assert!(age_ms < 60_000, "{age_ms}");
}

#[tokio::test]
async fn queue_shows_numbers_settings_samples_and_orders() {
    let (_dir, runner) = start_runner();
    fill_queue(&runner, 2).await;
    let pause = json!({ "op": "pause", "queue": QUEUE });
    assert_eq!(send_command(&runner, &pause).await["ok"], true);
    let path = format!("queues/{}", QUEUE.replace(':', "%3A"));
    let is_paused = async || {
        let samples = get(&runner, &path).await.1["samples"].clone();
        samples
            .as_array()
            .expect("samples")
            .last()
            .is_some_and(|last| last["paused"] == true && last["waiting"] == 2)
    };
    wait_until(BOUND, "a sample of the paused queue", is_paused).await;
    let (status, detail) = get(&runner, &path).await;
    assert_eq!(status, 200);
    assert_eq!(
        (
            &detail["stats"]["waiting"],
            &detail["stats"]["paused"],
            &detail["settings"]["paused"]
        ),
        (&json!(2), &json!(true), &json!(true))
    );
    assert_eq!(
        (&detail["settings"]["capacity"], &detail["problem"]),
        (&json!(1), &Value::Null)
    );
    let sample = detail["samples"]
        .as_array()
        .expect("samples")
        .last()
        .expect("a sample");
    for (name, value) in [
        ("active", json!(1)),
        ("capacity", json!(1)),
        ("batch", json!(2)),
        ("interval_seconds", json!(3.0)),
        ("state", json!("paused")),
        ("entered", json!(3)),
        ("promoted", json!(0)),
        ("had_wait_seconds", Value::Null),
    ] {
        assert_eq!(sample[name], value, "{name} in {sample}");
    }
    let orders = detail["orders"].as_array().expect("orders");
    let told = |order: &Value| {
        (
            order["op"].clone(),
            order["caller"].as_str().expect("a caller").ends_with("(console)"),
        )
    };
    let shown: Vec<_> = orders.iter().map(told).collect();
    assert!(
        shown.contains(&(json!("create"), true)) && shown.contains(&(json!("pause"), true)),
        "{orders:?}"
    );
}

#[tokio::test]
async fn a_deleted_queue_goes_and_an_unknown_one_is_404() {
    let (_dir, runner) = start_runner();
    fill_queue(&runner, 0).await;
    await_overview(&runner.console, |overview| find_queue(overview, QUEUE).is_some()).await;
    for (op, epoch) in [("close", 1), ("delete", 1)] {
        let command = json!({ "op": op, "queue": QUEUE, "confirm": QUEUE, "epoch": epoch });
        let answer = send_command(&runner, &command).await;
        assert_eq!(answer["ok"], true, "{answer}");
    }
    await_overview(&runner.console, |overview| find_queue(overview, QUEUE).is_none()).await;
    for (queue, code) in [(QUEUE, "queue-deleted"), ("never", "unknown-queue")] {
        let (status, problem) = get(&runner, &format!("queues/{queue}")).await;
        assert_eq!(
            (status.is_client_error(), &problem["code"]),
            (true, &json!(code)),
            "{problem}"
        );
    }
}

#[tokio::test]
async fn the_page_is_served_with_a_strict_policy() {
    let (_dir, runner) = start_runner();
    let page = runner
        .http()
        .get(runner.console.url(""))
        .send()
        .await
        .expect("answered");
    let policy = page.headers()["content-security-policy"]
        .to_str()
        .expect("text")
        .to_owned();
    assert!(
        policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"),
        "{policy}"
    );
    let cookie = page.headers()["set-cookie"].to_str().expect("text").to_owned();
    let text = page.text().await.expect("text");
    assert_eq!(text, read_text("web/operate/dist/index.html"));
    let assets: Vec<_> = text
        .split("assets/")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect();
    assert!(!assets.is_empty(), "{text}");
    for name in assets {
        let address = format!("{}assets/{name}", runner.console.page);
        let file = runner.http().get(address).header("Cookie", &*cookie).send().await;
        let file = file.expect("answered");
        let cache = file.headers()["cache-control"].to_str().expect("text").to_owned();
        assert!(
            file.status() == 200 && cache.contains("immutable"),
            "{name}: {cache}"
        );
    }
}
