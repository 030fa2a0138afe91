//! The one-process runner with the real parts: the line in Redis, the backup in DynamoDB, or both. However it ends, every
//! place and every record is as it was.

use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use uuid::Uuid;
use vestibule_tests::{
    runner::Runner,
    servers::{dynamodb_url, url},
    waiting::asked_until,
};

const QUEUE: &str = "q";
const BOUND: Duration = Duration::from_secs(30);

/// One runner after the other in the same folder, with the same parts.
struct Deployment {
    dir: TempDir,
    arguments: Vec<String>,
}

impl Deployment {
    fn new(parts: impl IntoIterator<Item = [String; 2]>) -> Self {
        let arguments = ["--demo-visitors", "0"].map(str::to_owned).into_iter();
        Self {
            dir: tempfile::tempdir().expect("a folder"),
            arguments: arguments.chain(parts.into_iter().flatten()).collect(),
        }
    }

    fn start(&self) -> Runner {
        let arguments: Vec<_> = self.arguments.iter().map(String::as_str).collect();
        Runner::start(self.dir.path(), &arguments).expect("it starts")
    }
}

/// The emulator, with tables that no other test has: a runner serves every queue that it finds in them.
fn dynamodb() -> [[String; 2]; 3] {
    let table = |of: &str| format!("test-{of}-{}", Uuid::new_v4());
    [
        ["--dynamodb".to_owned(), dynamodb_url()],
        ["--queues-table".to_owned(), table("queues")],
        ["--entries-table".to_owned(), table("entries")],
    ]
}

/// A database of one test: every runner has its demonstration queue in it.
fn redis(database: u8) -> [String; 2] {
    let server = url("TEST_REDIS_URL");
    [
        "--redis".to_owned(),
        format!("{}/{database}", server.trim_end_matches('/')),
    ]
}

/// Two are let in, one of them by a claim, and the others wait; answers their tokens in the order of the line.
async fn line_up(runner: &Runner) -> Vec<String> {
    let settings = json!({
        "capacity": 1, "batch": 1, "interval_seconds": 1, "claim_seconds": 3600, "session_seconds": 3600,
    });
    runner
        .order(json!({ "op": "create", "queue": QUEUE, "settings": settings }))
        .await;
    let mut line = Vec::new();
    for _ in 0..8 {
        let visitor = Uuid::new_v4().to_string();
        let entry = runner.enter(QUEUE, &visitor).await;
        assert_eq!(entry["durable"], json!(true));
        line.push((visitor, entry["token"].as_str().expect("a token").to_owned()));
    }
    runner
        .order(json!({ "op": "update", "queue": QUEUE, "settings": { "capacity": 2 } }))
        .await;
    let (visitor, token) = &line[1];
    let look = async || runner.status(QUEUE, token, 0).await.expect("answered");
    asked_until(BOUND, look, |entry| entry["state"] == json!("ready")).await;
    let claim = runner
        .http()
        .post(runner.url(&format!("/queues/{QUEUE}/entries/{token}/claim")))
        .header("X-Visitor-Id", visitor)
        .json(&json!({}));
    let claimed = claim.send().await.expect("answered");
    let claimed: Value = claimed.json().await.expect("JSON");
    assert_eq!(
        (&claimed["state"], &claimed["durable"]),
        (&json!("active"), &json!(true))
    );
    line.into_iter().map(|(_, token)| token).collect()
}

/// Where everybody stands, and what the backup says of it.
async fn places(runner: &Runner, line: &[String]) -> Vec<Value> {
    let mut places = Vec::new();
    for token in line {
        let found = runner
            .order(json!({ "op": "inspect", "queue": QUEUE, "token": token }))
            .await;
        let (place, record) = (&found["place"], &found["record"]);
        for part in ["state", "visit"] {
            assert_eq!(place[part], record[part], "{part} of {found}");
        }
        let of =
            |from: &Value, names: &[&str]| names.iter().map(|name| from[name].clone()).collect::<Vec<_>>();
        places.push(json!({
            "place": of(place, &["state", "visit", "position", "score", "expires_at_ms"]),
            "record": of(record, &["state", "visit", "score", "joined_at_ms", "claimed_at_ms", "expires_at_ms"]),
        }));
    }
    places
}

async fn keeps_everything(deployment: &Deployment) {
    let mut runner = deployment.start();
    let line = line_up(&runner).await;
    let before = places(&runner, &line).await;
    let states: Vec<_> = before.iter().map(|place| place["place"][0].clone()).collect();
    assert_eq!(states[..3], [json!("active"), json!("active"), json!("waiting")]);
    for signal in ["TERM", "KILL", "KILL"] {
        runner.signal(signal);
        let status = runner.ended(BOUND).await;
        assert_eq!(status.success(), signal == "TERM", "{status}");
        runner = deployment.start();
        assert_eq!(places(&runner, &line).await, before, "after {signal}");
    }
}

#[tokio::test]
async fn with_the_backup_in_dynamodb_every_place_is_kept() {
    keeps_everything(&Deployment::new(dynamodb())).await;
}

#[tokio::test]
async fn with_the_line_in_redis_every_place_is_kept() {
    keeps_everything(&Deployment::new([redis(11)])).await;
}

#[tokio::test]
async fn with_both_every_place_is_kept() {
    keeps_everything(&Deployment::new(dynamodb().into_iter().chain([redis(12)]))).await;
}
