//! What survives a restart, however the process before it ended.

use std::time::Duration;

use serde_json::{Value, json};
use uuid::Uuid;
use vestibule_backup::Backup;
use vestibule_backup_file::FileBackup;
use vestibule_tests::{runner::Runner, waiting::until};

use crate::{QUEUE, folder, start};

/// A queue where one is let in and the others stay where they are; answers the visitors and their entries.
async fn line_up(runner: &Runner, visitors: usize) -> Vec<(String, Value)> {
    let settings = json!({ "capacity": 1, "batch": 1, "interval_seconds": 3600, "session_seconds": 3600 });
    runner
        .order(json!({ "op": "create", "queue": QUEUE, "settings": settings }))
        .await;
    let mut line = Vec::new();
    for _ in 0..visitors {
        let visitor = Uuid::new_v4().to_string();
        let entry = runner.enter(QUEUE, &visitor).await;
        assert_eq!(entry["durable"], json!(true));
        line.push((visitor, entry));
    }
    line
}

/// Everybody stands where they stood, also those who enter once more.
async fn same_places(runner: &Runner, line: &[(String, Value)]) {
    for (visitor, before) in line {
        let token = before["token"].as_str().expect("a token");
        let status = runner.status(QUEUE, token, 0).await.expect("answered");
        let entered = runner.enter(QUEUE, visitor).await;
        for part in [
            "token",
            "state",
            "visit",
            "position",
            "joined_at_ms",
            "expires_at_ms",
        ] {
            assert_eq!(
                status[part], before[part],
                "{part} of {status}, which was {before}"
            );
            assert_eq!(
                entered[part], before[part],
                "{part} of {entered}, which was {before}"
            );
        }
    }
}

#[tokio::test]
async fn stopping_and_starting_keeps_every_place() {
    let dir = folder();
    let mut runner = start(&dir);
    let line = line_up(&runner, 25).await;
    assert_eq!(line[0].1["state"], json!("active"));
    assert_eq!(line[24].1["position"], json!(24));
    same_places(&runner, &line).await;

    for _ in 0..2 {
        runner.signal("TERM");
        let status = runner.ended(Duration::from_secs(10)).await;
        assert_eq!(status.code(), Some(0));
        runner = start(&dir);
        same_places(&runner, &line).await;
    }
}

#[tokio::test]
async fn killing_keeps_every_place() {
    let dir = folder();
    let mut runner = start(&dir);
    let line = line_up(&runner, 25).await;
    runner.signal("KILL");
    runner.ended(Duration::from_secs(10)).await;
    let runner = start(&dir);
    same_places(&runner, &line).await;
}

#[tokio::test]
async fn what_an_operator_changed_survives_a_restart() {
    let dir = folder();
    let mut runner = start(&dir);
    let message = json!({ "message": "mine", "trust_client_visitor_id": true });
    runner
        .order(json!({ "op": "update", "queue": "demo:1", "settings": message }))
        .await;
    runner.signal("INT");
    assert_eq!(runner.ended(Duration::from_secs(10)).await.code(), Some(0));
    let runner = start(&dir);
    let described = runner.order(json!({ "op": "describe", "queue": "demo:1" })).await;
    assert_eq!(described["settings"]["message"], json!("mine"));
    assert_eq!(described["settings"]["capacity"], json!(3));
}

#[tokio::test]
async fn a_wrong_stored_setting_keeps_its_queue_out_and_no_other() {
    let dir = folder();
    let mut runner = start(&dir);
    let line = line_up(&runner, 3).await;
    runner.signal("TERM");
    runner.ended(Duration::from_secs(10)).await;
    let right = {
        let backup = FileBackup::open(dir.path().join("backup.redb")).expect("the store");
        let queue = QUEUE.parse().expect("an id");
        let right = backup
            .read_queue(&queue)
            .await
            .expect("read")
            .expect("is there")
            .settings;
        let mut wrong = right.as_map().expect("a map").clone();
        wrong.insert("capacity".to_owned(), json!("many"));
        let replaced = backup.replace_settings(&queue, &right, &wrong).await;
        assert!(replaced.expect("written").is_some());
        right
    };

    let runner = start(&dir);
    runner.enter("demo:1", &Uuid::new_v4().to_string()).await;
    let token = line[1].1["token"].as_str().expect("a token");
    let status = runner.status(QUEUE, token, 0).await.expect("answered");
    assert_eq!(
        status["code"],
        json!("recovering"),
        "nobody lost a place, nobody is let in"
    );
    let described = runner.order(json!({ "op": "describe", "queue": QUEUE })).await;
    let problem = described["stored_settings_problem"].as_str().expect("named");
    assert!(problem.starts_with("capacity: "), "{problem}");

    let corrected = json!({ "capacity": right.to_value()["capacity"] });
    runner
        .order(json!({ "op": "update", "queue": QUEUE, "settings": corrected }))
        .await;
    // The edge remembers for a moment that the queue was away.
    until(Duration::from_secs(10), "the queue is back", async || {
        runner.status(QUEUE, token, 0).await.expect("answered")["state"].is_string()
    })
    .await;
    same_places(&runner, &line).await;
}

#[tokio::test]
async fn a_crowd_moves_through_and_takes_its_places_back() {
    const CROWD: u64 = 8;
    let dir = folder();
    let arguments = ["--demo-visitors", "8", "--quiet"];
    let stats = async |runner: &Runner| runner.order(json!({ "op": "stats", "queue": "demo:1" })).await;
    let count = |stats: &Value, name: &str| stats[name].as_u64().expect("a count");
    let sound = |stats: &Value| {
        assert!(count(stats, "ready") + count(stats, "active") <= 3, "{stats}");
        let standing = count(stats, "waiting") + count(stats, "ready") + count(stats, "active");
        assert!(standing <= CROWD, "one place each: {stats}");
        standing
    };
    let mut runner = Runner::start(dir.path(), &arguments).expect("it starts");
    until(Duration::from_mins(1), "two are through", async || {
        let stats = stats(&runner).await;
        sound(&stats);
        count(&stats["totals"], "completed") >= 2
    })
    .await;
    runner.signal("KILL");
    runner.ended(Duration::from_secs(5)).await;

    let runner = Runner::start(dir.path(), &arguments).expect("it starts");
    until(Duration::from_mins(1), "they go on", async || {
        let stats = stats(&runner).await;
        sound(&stats) > 0 && count(&stats["totals"], "completed") >= 1
    })
    .await;
}
