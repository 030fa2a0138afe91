//! What survives a restart after a stop or a kill.

use std::time::Duration;

use serde_json::{Value, json};
use uuid::Uuid;
use vestibule_backup::Backup;
use vestibule_backup_file::FileBackup;
use vestibule_tests::{runner::Runner, waiting::wait_until};

use crate::{QUEUE, start_runner, temporary_folder};

/// Creates a queue where the first visitor is active and the others wait for an hour. Returns the visitors and their
/// entries.
async fn line_up(runner: &Runner, visitors: usize) -> Vec<(String, Value)> {
    let settings = json!({ "capacity": 1, "batch": 1, "interval_seconds": 3600, "session_seconds": 3600 });
    runner
        .run_command(json!({ "op": "create", "queue": QUEUE, "settings": settings }))
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

/// Asserts that each entry is unchanged, both in its status and when the visitor enters again.
async fn assert_same_entries(runner: &Runner, line: &[(String, Value)]) {
    for (visitor, before) in line {
        let token = before["token"].as_str().expect("a token");
        let status = runner.entry_status(QUEUE, token).await.expect("answered");
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
async fn restart_after_a_stop_keeps_every_place() {
    let dir = temporary_folder();
    let mut runner = start_runner(&dir);
    let line = line_up(&runner, 25).await;
    assert_eq!(line[0].1["state"], json!("active"));
    assert_eq!(line[24].1["position"], json!(24));
    assert_same_entries(&runner, &line).await;

    for _ in 0..2 {
        runner.signal("TERM");
        let status = runner.wait_for_exit(Duration::from_secs(10)).await;
        assert_eq!(status.code(), Some(0));
        runner = start_runner(&dir);
        assert_same_entries(&runner, &line).await;
    }
}

#[tokio::test]
async fn restart_after_a_kill_keeps_every_place() {
    let dir = temporary_folder();
    let mut runner = start_runner(&dir);
    let line = line_up(&runner, 25).await;
    runner.signal("KILL");
    runner.wait_for_exit(Duration::from_secs(10)).await;
    let runner = start_runner(&dir);
    assert_same_entries(&runner, &line).await;
}

#[tokio::test]
async fn changed_settings_survive_a_restart() {
    let dir = temporary_folder();
    let mut runner = start_runner(&dir);
    let message = json!({ "message": "mine", "trust_client_visitor_id": true });
    runner
        .run_command(json!({ "op": "update", "queue": "demo:1", "settings": message }))
        .await;
    runner.signal("INT");
    assert_eq!(
        runner.wait_for_exit(Duration::from_secs(10)).await.code(),
        Some(0)
    );
    let runner = start_runner(&dir);
    let described = runner
        .run_command(json!({ "op": "describe", "queue": "demo:1" }))
        .await;
    assert_eq!(described["settings"]["message"], json!("mine"));
    assert_eq!(described["settings"]["capacity"], json!(3));
}

#[tokio::test]
async fn invalid_stored_setting_stops_only_its_own_queue() {
    let dir = temporary_folder();
    let mut runner = start_runner(&dir);
    let line = line_up(&runner, 3).await;
    // After an orderly stop the settings in force would go on: see `planned_restart`.
    runner.signal("KILL");
    runner.wait_for_exit(Duration::from_secs(10)).await;
    let valid = {
        let backup = FileBackup::open(dir.path().join("backup.redb")).expect("the store");
        let queue = QUEUE.parse().expect("an id");
        let valid = backup
            .read_queue(&queue)
            .await
            .expect("read")
            .expect("the queue exists")
            .settings;
        let mut invalid = valid.as_map().expect("a map").clone();
        invalid.insert("capacity".to_owned(), json!("many"));
        let replaced = backup.replace_settings(&queue, &valid, &invalid).await;
        assert!(replaced.expect("written").is_some());
        valid
    };

    let runner = start_runner(&dir);
    runner.enter("demo:1", &Uuid::new_v4().to_string()).await;
    let token = line[1].1["token"].as_str().expect("a token");
    let status = runner.entry_status(QUEUE, token).await.expect("answered");
    assert_eq!(
        status["code"],
        json!("recovering"),
        "the queue waits for a valid setting"
    );
    let described = runner
        .run_command(json!({ "op": "describe", "queue": QUEUE }))
        .await;
    let problem = described["stored_settings_problem"].as_str().expect("a problem");
    assert!(problem.starts_with("capacity: "), "{problem}");

    let corrected = json!({ "capacity": valid.to_value()["capacity"] });
    runner
        .run_command(json!({ "op": "update", "queue": QUEUE, "settings": corrected }))
        .await;
    // The API caches for a moment that the queue was missing.
    wait_until(Duration::from_secs(10), "the queue is back", async || {
        runner.entry_status(QUEUE, token).await.expect("answered")["state"].is_string()
    })
    .await;
    assert_same_entries(&runner, &line).await;
}

#[tokio::test]
async fn demo_visitors_move_on_after_a_kill() {
    const DEMO_VISITORS: u64 = 8;
    let dir = temporary_folder();
    let arguments = ["--demo-visitors", "8", "--quiet"];
    let stats = async |runner: &Runner| {
        runner
            .run_command(json!({ "op": "stats", "queue": "demo:1" }))
            .await
    };
    let count = |stats: &Value, name: &str| stats[name].as_u64().expect("a count");
    let check_counts = |stats: &Value| {
        assert!(count(stats, "ready") + count(stats, "active") <= 3, "{stats}");
        let present = count(stats, "waiting") + count(stats, "ready") + count(stats, "active");
        assert!(present <= DEMO_VISITORS, "a demo visitor has two places: {stats}");
        present
    };
    let mut runner = Runner::start(dir.path(), &arguments).expect("the runner starts");
    wait_until(
        Duration::from_mins(1),
        "two visitors have completed",
        async || {
            let stats = stats(&runner).await;
            check_counts(&stats);
            count(&stats["totals"], "completed") >= 2
        },
    )
    .await;
    runner.signal("KILL");
    runner.wait_for_exit(Duration::from_secs(5)).await;

    let runner = Runner::start(dir.path(), &arguments).expect("the runner starts");
    wait_until(Duration::from_mins(1), "the demo visitors go on", async || {
        let stats = stats(&runner).await;
        check_counts(&stats) > 0 && count(&stats["totals"], "completed") >= 1
    })
    .await;
}
