//! The log events for what an operator does: settings that are edited, and queues that are deleted. This is the only test of
//! its process, because a process has one log.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::time::sleep;
use vestibule_admin::Admin;
use vestibule_backup::Backup;
use vestibule_backup_file::FileBackup;
use vestibule_domain::id::QueueId;
use vestibule_engine::sync::SettingsPolicy;
use vestibule_line::Line;
use vestibule_promoter::Promoter;
use vestibule_telemetry::metrics::SETTINGS_REFUSED;
use vestibule_tests::{captured_output::CapturedOutput, functions::root_key, waiting::wait_until};

const BOUND: Duration = Duration::from_mins(1);
/// The promoter ticks a queue each second.
const TICKS: Duration = Duration::from_millis(2_500);

#[tokio::test]
async fn each_refused_edit_is_logged_once_and_a_deletion_is_no_failure() {
    let (logs, metrics) = (CapturedOutput::default(), CapturedOutput::default());
    let subscriber = tracing_subscriber::fmt()
        .json()
        .with_writer(logs.clone())
        .finish();
    tracing::subscriber::set_global_default(subscriber).expect("no other log");
    let dir = tempfile::tempdir().expect("a folder");
    let line = Line::in_process();
    let backup = Arc::new(FileBackup::open(dir.path().join("store")).expect("a store"));
    let admin = Admin {
        line: line.clone(),
        backup: backup.clone(),
        root_key: root_key().into(),
        policy: SettingsPolicy::default(),
        signing_keys: vestibule_tests::functions::fixed_signing_keys(),
    };
    let created = admin.handle(json!({ "op": "create", "queue": "q" })).await;
    assert_eq!(created["ok"], true, "{created}");
    let edit = async |settings: Value| {
        let queue: QueueId = "q".parse().expect("an id");
        let stored = backup
            .read_queue(&queue)
            .await
            .expect("read")
            .expect("the queue exists");
        let settings = settings.as_object().expect("an object").clone();
        let replaced = backup.replace_settings(&queue, &stored.settings, &settings).await;
        assert!(replaced.expect("written").is_some());
    };
    let events = |event: &str| {
        let lines = logs.lines().into_iter();
        lines
            .filter(|line| line["fields"]["event"] == event)
            .collect::<Vec<_>>()
    };
    let refusals = || events("queue.step_failed");
    let refused_metric_count = || {
        metrics
            .values(SETTINGS_REFUSED)
            .iter()
            .filter(|value| **value > 0.0)
            .count()
    };
    let promoter = Promoter::new(line, backup.clone(), SettingsPolicy::default());
    let promoter = Arc::new(promoter.with_metrics(metrics.metrics()));
    let operator = async {
        edit(json!({ "capacity": "many" })).await;
        wait_until(BOUND, "the edit is refused", async || refusals().len() == 1).await;
        // Ten seconds later, the promoter has read the same settings several times.
        wait_until(BOUND, "the metric shows the refusal again", async || {
            refused_metric_count() == 2
        })
        .await;
        assert_eq!(refusals().len(), 1);
        // A different edit is refused for the same reason.
        edit(json!({ "capacity": "lots" })).await;
        wait_until(BOUND, "the second edit is refused", async || {
            refusals().len() == 2
        })
        .await;
        edit(json!({ "capacity": "9" })).await;
        wait_until(BOUND, "the correction is applied", async || {
            events("queue.settings_applied").len() == 1
        })
        .await;
        assert_eq!((events("queue.step_recovered").len(), refusals().len()), (1, 2));
        for refusal in refusals() {
            let problem = refusal["fields"]["problem"].as_str().expect("a problem");
            assert!(problem.contains("capacity: "), "{problem}");
        }
        // The next tick finds no queue, and the end of a process may come before it.
        let deleted = admin.handle(json!({ "op": "delete", "queue": "q", "confirm": "q", "epoch": 1 }));
        assert_eq!(deleted.await["ok"], true);
        promoter
            .flush_all()
            .await
            .expect("a deleted queue has nothing to flush");
        sleep(TICKS).await;
        assert_eq!(refusals().len(), 2, "{:?}", refusals());
    };
    promoter.clone().run(operator).await;
}
