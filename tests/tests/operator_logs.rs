//! What the log says of settings that an operator edits. The only test of its process, which has one log.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use vestibule_backup::Backup;
use vestibule_backup_file::FileBackup;
use vestibule_domain::id::QueueId;
use vestibule_engine::sync::SettingsPolicy;
use vestibule_line_memory::MemoryLine;
use vestibule_operate::{admin::Admin, promoter::Promoter};
use vestibule_telemetry::metrics::SETTINGS_REFUSED;
use vestibule_tests::{captured_output::CapturedOutput, functions::root_key, waiting::wait_until};

const BOUND: Duration = Duration::from_mins(1);

#[tokio::test]
async fn a_refused_edit_is_logged_once_for_each_change() {
    let (logs, metrics) = (CapturedOutput::default(), CapturedOutput::default());
    let subscriber = tracing_subscriber::fmt()
        .json()
        .with_writer(logs.clone())
        .finish();
    tracing::subscriber::set_global_default(subscriber).expect("the only log");
    let dir = tempfile::tempdir().expect("a folder");
    let line = Arc::new(MemoryLine::new());
    let backup = Arc::new(FileBackup::open(dir.path().join("store")).expect("a store"));
    let admin = Admin {
        line: line.clone(),
        backup: backup.clone(),
        root_key: root_key(),
        policy: SettingsPolicy::default(),
    };
    let created = admin.handle(json!({ "op": "create", "queue": "q" })).await;
    assert_eq!(created["ok"], true, "{created}");
    let edit = async |settings: Value| {
        let queue: QueueId = "q".parse().expect("an id");
        let stored = backup.read_queue(&queue).await.expect("read").expect("is there");
        let settings = settings.as_object().expect("an object").clone();
        let replaced = backup.replace_settings(&queue, &stored.settings, &settings).await;
        assert!(replaced.expect("written").is_some());
    };
    let said = |what: &str| logs.text().lines().filter(|line| line.contains(what)).count();
    let refused = || {
        metrics
            .values(SETTINGS_REFUSED)
            .iter()
            .filter(|value| **value > 0.0)
            .count()
    };
    let reason = "capacity: must be a whole number of entries from 1 to 10000000";
    let operator = async {
        edit(json!({ "capacity": "many" })).await;
        wait_until(BOUND, "refused", async || said(reason) == 1).await;
        // Ten seconds later it was read again, several times over.
        wait_until(BOUND, "refused again", async || refused() == 2).await;
        assert_eq!(said(reason), 1);
        // The same reason, but another edit.
        edit(json!({ "capacity": "lots" })).await;
        wait_until(BOUND, "the next one", async || said(reason) == 2).await;
        edit(json!({ "capacity": "9" })).await;
        wait_until(BOUND, "corrected", async || {
            said("changed settings are in force") == 1
        })
        .await;
        assert_eq!((said("the trouble is over"), said(reason)), (1, 2));
    };
    let promoter = Promoter::new(line, backup.clone(), SettingsPolicy::default());
    let promoter = Arc::new(promoter.with_metrics(metrics.metrics()));
    promoter.run(operator).await;
}
