//! The operator of a run: gives a command again until it is carried out, because the function, Redis or the table may
//! fail at any moment.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use vestibule_backup::Backup;

use crate::chaos::world::World;

/// The time limit for a command. Faults last some seconds.
const COMMAND_MAX: Duration = Duration::from_mins(1);
const COMMAND_PAUSE: Duration = Duration::from_millis(100);
/// The time limit for totals. The promoter stores them every few seconds.
const TOTALS_MAX: Duration = Duration::from_secs(20);

/// The operator of the queue of a world.
pub(super) struct Operator {
    world: Arc<World>,
}

impl Operator {
    pub(super) fn new(world: &Arc<World>) -> Self {
        Self { world: world.clone() }
    }

    pub(super) async fn create(&self, settings: &Value) -> Value {
        self.carry_out(json!({ "op": "create", "settings": settings }))
            .await
    }

    pub(super) async fn finish(&self) -> Value {
        self.carry_out(json!({ "op": "finish", "confirm": self.queue() }))
            .await
    }

    pub(super) async fn delete(&self) -> Value {
        self.carry_out(json!({ "op": "delete", "confirm": self.queue() }))
            .await
    }

    pub(super) async fn stats(&self) -> Value {
        self.carry_out(json!({ "op": "stats" })).await
    }

    /// The report of a generation, or of the last one.
    pub(super) async fn report(&self, generation: Option<u64>) -> Value {
        let mut command = json!({ "op": "report" });
        if let Some(generation) = generation {
            command["generation"] = json!(generation);
        }
        self.carry_out(command).await
    }

    /// The tokens of all entries in a state, in order.
    pub(super) async fn tokens(&self, state: &str) -> Vec<String> {
        let command = json!({ "op": "entries", "state": state, "limit": 1_000 });
        let page = self.carry_out(command).await;
        let entries = page["entries"].as_array().expect("a list");
        let mut tokens: Vec<_> = entries
            .iter()
            .map(|entry| entry["token"].as_str().expect("a token").to_owned())
            .collect();
        tokens.sort();
        tokens
    }

    /// The report of the last generation, once it has these totals: the promoter counts the dismissed some time after
    /// they were told. Without them it waits no longer than the totals usually take.
    pub(super) async fn report_with_totals(&self, totals: &Value) -> Value {
        let end = Instant::now() + TOTALS_MAX;
        loop {
            let report = self.report(None).await;
            if has_totals(&report["totals"], totals) || Instant::now() >= end {
                return report;
            }
            sleep(COMMAND_PAUSE).await;
        }
    }

    /// Waits until the backup has these totals. Without them it waits no longer than the totals usually take.
    pub(super) async fn await_stored_totals(&self, totals: &Value) {
        let end = Instant::now() + TOTALS_MAX;
        while Instant::now() < end {
            let stored = self
                .world
                .deployment
                .backup
                .read_tally(&self.world.queue, None)
                .await;
            let stored = stored.ok().flatten().map(|stored| json!(stored.tally.totals));
            if stored.is_some_and(|stored| has_totals(&stored, totals)) {
                return;
            }
            sleep(COMMAND_PAUSE).await;
        }
    }

    /// Gives a command until it is carried out, each time with the epoch of that moment if the command must be confirmed.
    async fn carry_out(&self, mut command: Value) -> Value {
        let end = Instant::now() + COMMAND_MAX;
        loop {
            if command.get("confirm").is_some() {
                let described = self.run(json!({ "op": "describe" })).await;
                // A deletion that was cut off needs no epoch.
                command["epoch"] = described.map_or(json!(0), |described| described["epoch"].clone());
            }
            match self.run(command.clone()).await {
                Ok(result) => return result,
                Err(answer) => assert!(
                    Instant::now() < end,
                    "the command {command} was not carried out: {answer}"
                ),
            }
            sleep(COMMAND_PAUSE).await;
        }
    }

    fn queue(&self) -> &str {
        self.world.queue.as_str()
    }

    /// Gives a command once. The error is what came instead of a result.
    async fn run(&self, mut command: Value) -> Result<Value, String> {
        command["queue"] = json!(self.queue());
        let answer = self.world.deployment.lambda.invoke("admin", &command).await;
        let answer = answer.map_err(|error| format!("{error:?}"))?;
        if answer["ok"] == true {
            Ok(answer["result"].clone())
        } else {
            Err(answer.to_string())
        }
    }
}

/// Whether each of the wanted totals is shown.
pub(super) fn has_totals(shown: &Value, wanted: &Value) -> bool {
    wanted
        .as_object()
        .is_some_and(|wanted| wanted.iter().all(|(name, total)| shown[name] == *total))
}
