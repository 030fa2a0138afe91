//! The commands of an operator.

use serde_json::{Value, json};
use vestibule_admin::Admin;
use vestibule_engine::sync::SettingsPolicy;
use vestibule_tests::{functions::root_key, in_process::BOUND, waiting::wait_until};

use super::Scene;

impl Scene {
    /// The operator's command that runs a consistency check.
    pub(crate) fn check_command(&self) -> Value {
        json!({ "op": "check", "queue": self.queue.as_str() })
    }

    /// Runs consistency checks until one finds no difference.
    pub(crate) async fn check_until_clean(&self) {
        wait_until(BOUND, "line and backup agree", async || {
            let checked = self.run_command(self.check_command()).await;
            [
                "written",
                "rewritten",
                "adopted",
                "restored",
                "ended",
                "removed",
                "skipped",
            ]
            .into_iter()
            .all(|count| checked[count] == 0)
        })
        .await;
    }

    /// Carries out an operator's command and returns its result.
    pub(crate) async fn run_command(&self, order: Value) -> Value {
        let mut answer = self.try_command(order.clone()).await;
        assert_eq!(answer["ok"], true, "{order}: {answer}");
        answer["result"].take()
    }

    /// Carries out an operator's command, which may fail.
    pub(crate) async fn try_command(&self, order: Value) -> Value {
        let admin = Admin {
            line: self.line.clone(),
            backup: self.backup.clone(),
            root_key: root_key().into(),
            policy: SettingsPolicy::default(),
            signing_keys: vestibule_tests::functions::fixed_signing_keys(),
        };
        admin.handle(order).await
    }

    /// Carries out an operator's command that needs the name of the queue and its epoch as confirmation.
    pub(crate) async fn run_confirmed(&self, op: &str) -> Value {
        let queue = self.queue.as_str();
        let epoch = self.stored_queue().await.metadata.epoch;
        self.run_command(json!({ "op": op, "queue": queue, "confirm": queue, "epoch": epoch }))
            .await
    }
}
