//! Commands that another one, or a restored table, overtakes between two of their steps.

use std::sync::Arc;

use serde_json::{Value, json};
use vestibule_backup_file::FileBackup;
use vestibule_faults::{Faults, FaultyBackup};

use super::AdminFixture;

/// Gives a command that stops before this operation of the line or the backup, while another operator resets the queue. Returns the
/// problem of the command.
async fn reset_before(operation: &str, command: Value) -> Value {
    let desk = AdminFixture::with_queue(json!({})).await;
    let faults = Faults::default();
    let gate = faults.gate_before(operation);
    let mut slow = desk.admin.clone();
    slow.line = slow.line.with_tap(Arc::new(faults.clone()));
    slow.backup = FaultyBackup::new(slow.backup, faults);
    gate.shut();
    let overtaken = tokio::spawn(async move { slow.handle(command).await });
    while gate.arrivals() == 0 {
        assert!(!overtaken.is_finished(), "{operation} is not called");
        tokio::task::yield_now().await;
    }
    desk.run(json!({ "op": "reset", "queue": "q", "confirm": "q", "epoch": 1 }))
        .await;
    gate.open();
    let mut answer = overtaken.await.expect("no panic");
    assert_eq!(answer["ok"], false, "{answer}");
    answer["problem"].take()
}

#[tokio::test]
async fn a_command_that_a_reset_overtakes_says_so() {
    let confirmed = |op: &str| json!({ "op": op, "queue": "q", "confirm": "q", "epoch": 1 });
    for (command, operation, code) in [
        (confirmed("delete"), "delete_queue", "epoch-changed"),
        (confirmed("reset"), "begin_generation", "epoch-changed"),
        (
            json!({ "op": "check", "queue": "q" }),
            "queue_view",
            "queue-reset",
        ),
    ] {
        let problem = reset_before(operation, command.clone()).await;
        assert_eq!(
            (&problem["code"], &problem["status"]),
            (&json!(code), &json!(409)),
            "{command}: {problem}"
        );
    }
}

/// A table that was restored to an earlier moment has an earlier epoch.
#[tokio::test]
async fn settings_of_a_table_from_the_past_are_not_applied() {
    let mut desk = AdminFixture::with_queue(json!({})).await;
    let path = desk.dir.path().join("backup.redb");
    let past = desk.dir.path().join("past.redb");
    std::fs::copy(&path, &past).expect("copied");
    desk.run(json!({ "op": "restore", "queue": "q", "confirm": "q", "epoch": 1 }))
        .await;
    desk.admin.backup = Arc::new(FileBackup::open(past).expect("a copy"));
    let update = json!({ "op": "update", "queue": "q", "settings": { "batch": 3 } });
    let problem = desk.run_refused(update).await;
    assert_eq!(problem["code"], "epoch-behind", "{problem}");
    assert_ne!(
        desk.line()
            .queue_view(&super::queue())
            .await
            .expect("seen")
            .configuration
            .settings
            .batch,
        3
    );
}
