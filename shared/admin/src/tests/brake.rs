//! The switches while the backup is away.

use std::sync::Arc;

use serde_json::{Value, json};
use vestibule_engine::sync::{SyncOutcome, sync_settings};
use vestibule_faults::{Fault, Faults, FaultyBackup};
use vestibule_line::Line;

use super::{AdminFixture, queue, switches};

/// The fixture with a queue, whose backup fails from now on until the faults are healed.
async fn with_absent_backup(settings: Value, fault: Fault) -> (AdminFixture, Faults) {
    let mut desk = AdminFixture::with_queue(settings).await;
    let faults = Faults::default();
    desk.admin.backup = FaultyBackup::new(Arc::clone(&desk.admin.backup), faults.clone());
    faults.fail_all(fault);
    (desk, faults)
}

async fn setting_in_line(desk: &AdminFixture, name: &str) -> Value {
    let view = desk.line().queue_view(&queue()).await.expect("seen");
    view.configuration.settings.to_map()[name].clone()
}

#[tokio::test]
async fn each_switch_acts_on_the_line_alone_and_is_stored_later() {
    for fault in [Fault::Unavailable, Fault::Throttled] {
        let (desk, faults) = with_absent_backup(json!({ "capacity": 7 }), fault).await;
        for (order, field, value) in switches() {
            let answer = desk.run(order.clone()).await;
            assert_eq!(
                (&answer["settings"][field], &answer["stored"]),
                (&value, &json!(false)),
                "{order}"
            );
            assert_eq!(setting_in_line(&desk, field).await, value, "{order}");
            assert_eq!(
                desk.run(order.clone()).await["changed"],
                false,
                "{order}: again is harmless"
            );
        }
        desk.run(json!({ "op": "pause", "queue": "q" })).await;
        let stats = desk.run(json!({ "op": "stats", "queue": "q" })).await;
        assert_eq!(stats["unsaved_switches"], json!(["entrance", "paused"]));
        faults.heal_all();
        assert_eq!(desk.stored_queue().await.settings.to_value()["paused"], false);
        let (line, backup) = (desk.line(), desk.backup());
        let synced = sync_settings(line, backup, &queue(), desk.admin.policy).await;
        assert!(matches!(synced, Ok(SyncOutcome::InForce { .. })), "{synced:?}");
        let stored = desk.stored_queue().await.settings.to_value();
        assert_eq!(
            (&stored["paused"], &stored["capacity"]),
            (&json!(true), &json!(7))
        );
        let stats = desk.run(json!({ "op": "stats", "queue": "q" })).await;
        assert_eq!(stats["unsaved_switches"], json!([]));
        let paused = desk.run(json!({ "op": "pause", "queue": "q" })).await;
        assert_eq!(
            (&paused["changed"], &paused["stored"]),
            (&json!(false), &json!(true))
        );
    }
}

#[tokio::test]
async fn without_line_and_backup_the_backup_is_named() {
    let (mut desk, _) = with_absent_backup(json!({}), Fault::Unavailable).await;
    desk.admin.line = Line::in_process();
    for op in ["pause", "open"] {
        let problem = desk.run_refused(json!({ "op": op, "queue": "q" })).await;
        assert_eq!(problem["code"], "backup-unavailable", "{op}");
    }
}

#[tokio::test]
async fn a_switch_that_is_refused_changes_no_line() {
    let passed = json!({ "closes_at_ms": vestibule_telemetry::clock::now_ms() - 1_000 });
    let (desk, _) = with_absent_backup(passed, Fault::Unavailable).await;
    let problem = desk.run_refused(json!({ "op": "open", "queue": "q" })).await;
    assert_eq!(problem["field"], "closes_at_ms");
    let close = json!({ "op": "close", "queue": "q", "confirm": "q", "epoch": 2 });
    assert_eq!(desk.run_refused(close).await["code"], "confirmation-needed");
    assert_eq!(setting_in_line(&desk, "entrance").await, "open");
}
