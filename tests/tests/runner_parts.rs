//! The one-process runner with the line in Redis, the backup in DynamoDB, or both. After a stop or a kill, every entry
//! and every record is unchanged.

use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use uuid::Uuid;
use vestibule_tests::{own_redis::OwnRedis, runner::Runner, servers::dynamodb_url, waiting::poll_until};

const QUEUE: &str = "q";
const BOUND: Duration = Duration::from_secs(30);

/// Starts one runner after another in the same folder with the same line and backup.
struct RunnerFactory {
    dir: TempDir,
    arguments: Vec<String>,
}

impl RunnerFactory {
    fn new(parts: impl IntoIterator<Item = [String; 2]>) -> Self {
        let arguments = ["--demo-visitors", "0"].map(str::to_owned).into_iter();
        Self {
            dir: tempfile::tempdir().expect("a folder"),
            arguments: arguments.chain(parts.into_iter().flatten()).collect(),
        }
    }

    fn start(&self) -> Runner {
        let arguments: Vec<_> = self.arguments.iter().map(String::as_str).collect();
        Runner::start(self.dir.path(), &arguments).expect("the runner starts")
    }
}

/// Arguments for the DynamoDB emulator, with tables that no other test uses, because a runner serves every queue in
/// them.
fn dynamodb_arguments() -> [[String; 2]; 3] {
    let table = |kind: &str| format!("test-{kind}-{}", Uuid::new_v4());
    [
        ["--dynamodb".to_owned(), dynamodb_url()],
        ["--queues-table".to_owned(), table("queues")],
        ["--entries-table".to_owned(), table("entries")],
    ]
}

fn redis_arguments(redis: &OwnRedis) -> [String; 2] {
    ["--redis".to_owned(), redis.url()]
}

/// Creates a queue with two active visitors, one of them after a claim, and six who wait. Returns their tokens in
/// order.
async fn line_up(runner: &Runner) -> Vec<String> {
    let settings = json!({
        "capacity": 1, "batch": 1, "interval_seconds": 1, "claim_seconds": 3600, "session_seconds": 3600,
    });
    runner
        .run_command(json!({ "op": "create", "queue": QUEUE, "settings": settings }))
        .await;
    let mut line = Vec::new();
    for _ in 0..8 {
        let visitor = Uuid::new_v4().to_string();
        let entry = runner.enter(QUEUE, &visitor).await;
        assert_eq!(entry["durable"], json!(true));
        let token = entry["token"].as_str().expect("a token").to_owned();
        let poll = runner
            .http()
            .get(runner.url(&format!("/queues/{QUEUE}/entries/{token}")));
        let polled = poll.header("X-Visitor-Id", &visitor).send().await;
        assert!(polled.expect("answered").status().is_success());
        line.push((visitor, token));
    }
    runner
        .run_command(json!({ "op": "update", "queue": QUEUE, "settings": { "capacity": 2 } }))
        .await;
    let (visitor, token) = &line[1];
    let read_entry = async || runner.entry_status(QUEUE, token).await.expect("answered");
    poll_until(BOUND, read_entry, |entry| entry["state"] == json!("ready")).await;
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

/// Reads each entry from the line and from the backup, and asserts that both agree.
async fn read_entries(runner: &Runner, line: &[String]) -> Vec<Value> {
    let mut entries = Vec::new();
    for token in line {
        let found = runner
            .run_command(json!({ "op": "inspect", "queue": QUEUE, "token": token }))
            .await;
        let (place, record) = (&found["place"], &found["record"]);
        for part in ["state", "visit"] {
            assert_eq!(
                place[part], record[part],
                "line and backup differ in {part}: {found}"
            );
        }
        let values =
            |from: &Value, names: &[&str]| names.iter().map(|name| from[name].clone()).collect::<Vec<_>>();
        entries.push(json!({
            "place": values(place, &["state", "visit", "position", "score", "expires_at_ms"]),
            "record": values(record, &["state", "visit", "score", "joined_at_ms", "claimed_at_ms", "expires_at_ms"]),
        }));
    }
    entries
}

async fn assert_restarts_keep_entries(deployment: &RunnerFactory) {
    let mut runner = deployment.start();
    let line = line_up(&runner).await;
    let before = read_entries(&runner, &line).await;
    let states: Vec<_> = before.iter().map(|place| place["place"][0].clone()).collect();
    assert_eq!(states[..3], [json!("active"), json!("active"), json!("waiting")]);
    for signal in ["TERM", "KILL", "KILL"] {
        runner.signal(signal);
        let status = runner.wait_for_exit(BOUND).await;
        assert_eq!(status.success(), signal == "TERM", "{status}");
        runner = deployment.start();
        assert_eq!(read_entries(&runner, &line).await, before, "after {signal}");
    }
}

#[tokio::test]
async fn backup_in_dynamodb_keeps_every_place() {
    assert_restarts_keep_entries(&RunnerFactory::new(dynamodb_arguments())).await;
}

#[tokio::test]
async fn line_in_redis_keeps_every_place() {
    let redis = OwnRedis::start();
    assert_restarts_keep_entries(&RunnerFactory::new([redis_arguments(&redis)])).await;
}

#[tokio::test]
async fn line_in_redis_and_backup_in_dynamodb_keep_every_place() {
    let redis = OwnRedis::start();
    let arguments = dynamodb_arguments().into_iter();
    assert_restarts_keep_entries(&RunnerFactory::new(arguments.chain([redis_arguments(&redis)]))).await;
}
