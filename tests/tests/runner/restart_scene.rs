//! Visitors of a queue before and after a restart of the runner, and what they and operators see of it.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;
use uuid::Uuid;
use vestibule_tests::runner::Runner;

use crate::{QUEUE, start_runner};

/// Generous, for a busy machine.
pub(crate) const BOUND: Duration = Duration::from_mins(1);

/// A visitor with the last answer.
pub(crate) struct Guest {
    pub(crate) id: String,
    pub(crate) entry: Value,
}

impl Guest {
    pub(crate) async fn enter(runner: &Runner) -> Self {
        let id = Uuid::new_v4().to_string();
        let entry = runner.enter(QUEUE, &id).await;
        assert_eq!(entry["durable"], json!(true), "{entry}");
        Self { id, entry }
    }

    pub(crate) fn path(&self, below: &str) -> String {
        format!(
            "/queues/{QUEUE}/entries/{}{below}",
            self.entry["token"].as_str().expect("a token")
        )
    }

    pub(crate) async fn send(
        &self,
        runner: &Runner,
        method: Method,
        below: &str,
        body: Value,
    ) -> (u16, Value) {
        let request = runner.http().request(method, runner.url(&self.path(below)));
        let answer = request.header("X-Visitor-Id", &self.id).json(&body).send().await;
        let answer = answer.expect("answered");
        (answer.status().as_u16(), answer.json().await.unwrap_or_default())
    }

    pub(crate) async fn status(&self, runner: &Runner) -> Value {
        self.send(runner, Method::GET, "", json!({})).await.1
    }

    /// Whether the protected service accepts the pass that the visitor got at first.
    pub(crate) async fn expect_valid_pass(&self, runner: &Runner) {
        let (status, answer) = self
            .send(
                runner,
                Method::POST,
                "/validate",
                json!({ "pass": self.entry["pass"] }),
            )
            .await;
        assert_eq!((status, &answer["state"]), (200, &json!("active")), "{answer}");
    }

    /// Asserts that the visitor has the same place or session as in the first answer.
    pub(crate) async fn expect_same_entry(&self, runner: &Runner) {
        let now = self.status(runner).await;
        for part in [
            "state",
            "visit",
            "place",
            "position",
            "joined_at_ms",
            "expires_at_ms",
        ] {
            assert_eq!(
                now[part], self.entry[part],
                "{part} of {now}, which was {}",
                self.entry
            );
        }
    }
}

/// Creates a queue whose visitors wait for an hour once the given number is let in.
pub(crate) async fn create_queue(runner: &Runner, capacity: u64) {
    let settings = json!({
        "capacity": capacity, "batch": capacity, "interval_seconds": 1, "session_seconds": 3600, "claim_seconds": 600,
    });
    runner
        .run_command(json!({ "op": "create", "queue": QUEUE, "settings": settings }))
        .await;
}

/// The epochs and the counts of a queue that clients and operators see.
pub(crate) async fn observe(runner: &Runner, queue: &str) -> Value {
    let command = |op: &str| json!({ "op": op, "queue": queue });
    let described = runner.run_command(command("describe")).await;
    let stats = runner.run_command(command("stats")).await;
    let document = runner
        .http()
        .get(runner.url(&format!("/queues/{queue}")))
        .send()
        .await;
    let document: Value = document.expect("answered").json().await.expect("JSON");
    json!({
        "epoch": document["epoch"],
        "epochs": [described["epoch"], described["generation"], described["min_epoch"]],
        "counts": [stats["waiting"], stats["ready"], stats["active"], stats["held"]],
        "gone_ahead": document["lanes"]["4"]["gone_ahead"],
    })
}

pub(crate) async fn epoch(runner: &Runner, queue: &str) -> u64 {
    observe(runner, queue).await["epoch"].as_u64().expect("an epoch")
}

pub(crate) async fn restart(runner: Runner, dir: &TempDir, signal: &str) -> Runner {
    runner.stop(signal, BOUND).await;
    start_runner(dir)
}
