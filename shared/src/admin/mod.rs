//! What operators do: one function that takes `{"op": …, "queue": …, "settings": {…}}` and answers
//! `{"ok": true, "result": {…}}` or `{"ok": false, "problem": {…}}`.
//!
//! The backup is written first and the line after it: a crash between the two leaves settings that the promoter puts
//! in force seconds later, never settings in force that nobody stored.

mod check;
mod create;
mod describe;
mod entry;
mod order;
mod plan;
mod problem;
mod promote;
mod recover;
mod settings;
mod stats;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde_json::{Value, json};
use tracing::{info, warn};

pub use self::{
    check::CHECK_TIME,
    order::{Confirmation, OPERATIONS, Order, Whom},
    problem::Problem,
};
use crate::{
    backup::{Backup, Shelf, StoredQueue},
    domain::{
        id::{QueueId, RootKey},
        settings::Entrance,
    },
    line::Line,
    promoter::Policy,
};

/// Carries out the orders of operators.
#[derive(Clone)]
pub struct Admin {
    /// The line.
    pub line: Arc<dyn Line>,
    /// The backup.
    pub backup: Arc<dyn Backup>,
    /// Finds a visitor's entry.
    pub root_key: RootKey,
    /// What this deployment lets its queues do.
    pub policy: Policy,
}

impl Admin {
    /// Carries out one order and says what came of it; every order is answered.
    pub async fn answer(&self, event: Value) -> Value {
        // Only what is known to be an operation and a queue: anything else may hold what no log should.
        let op = OPERATIONS.into_iter().find(|op| event["op"] == **op);
        let queue = event["queue"].as_str().and_then(|text| text.parse().ok());
        let queue = queue.as_ref().map(QueueId::as_str);
        let outcome = match Order::parse(event) {
            Ok(order) => self.carry_out(order).await,
            Err(problem) => Err(problem),
        };
        match outcome {
            Ok(result) => {
                info!(
                    event = "command.completed",
                    op, queue, "carried out a command of an operator"
                );
                json!({ "ok": true, "result": result })
            }
            Err(problem) => {
                warn!(
                    event = "command.failed",
                    op,
                    queue,
                    code = problem.code(),
                    "did not carry out a command of an operator; the field code names the problem"
                );
                json!({ "ok": false, "problem": problem.to_value() })
            }
        }
    }

    async fn carry_out(&self, order: Order) -> Result<Value, Problem> {
        match order {
            Order::Create(queue, settings) => self.create(&queue, &settings).await,
            Order::Update(queue, given) => self.update(&queue, &given).await,
            Order::Describe(queue, help) => self.describe(&queue, help).await,
            Order::List => self.list().await,
            Order::Open(queue) => self.switch(&queue, "entrance", json!(Entrance::Open)).await,
            Order::Pause(queue) => self.switch(&queue, "paused", json!(true)).await,
            Order::Resume(queue) => self.switch(&queue, "paused", json!(false)).await,
            Order::Drain(queue) => self.switch(&queue, "entrance", json!(Entrance::Draining)).await,
            Order::Close(queue, confirmation) => {
                self.confirm("close", &queue, &confirmation).await?;
                self.switch(&queue, "entrance", json!(Entrance::Closed)).await
            }
            Order::Promote(queue, count) => self.promote(&queue, count).await,
            Order::Evict(queue, whom, confirmation) => {
                self.confirm("evict", &queue, &confirmation).await?;
                self.evict(&queue, &whom).await
            }
            Order::Restore(queue, confirmation) => {
                self.confirm("restore", &queue, &confirmation).await?;
                self.restore(&queue).await
            }
            Order::Reset(queue, confirmation) => {
                self.confirm("reset", &queue, &confirmation).await?;
                self.reset(&queue).await
            }
            Order::Inspect(queue, whom) => self.inspect(&queue, &whom).await,
            Order::Stats(queue) => self.stats(&queue).await,
            Order::Check(queue, from_shard) => self.check(&queue, from_shard).await,
            Order::Plan(demand) => plan::plan(&demand),
        }
    }

    /// Refuses an order that does not repeat the queue's id and its current epoch.
    async fn confirm(&self, op: &str, queue: &QueueId, given: &Confirmation) -> Result<(), Problem> {
        let epoch = self.stored(queue).await?.line.epoch;
        let wrong = if given.confirm.as_deref() != Some(queue.as_str()) {
            "confirm"
        } else if given.epoch != Some(epoch.into()) {
            "epoch"
        } else {
            return Ok(());
        };
        Err(Problem::unconfirmed(op, wrong, queue.as_str(), epoch))
    }

    async fn stored(&self, queue: &QueueId) -> Result<StoredQueue, Problem> {
        self.backup.queue(queue).await?.ok_or_else(Problem::unknown_queue)
    }
}

/// Where the entries of a stored queue stand. Where its settings are wrong, what is kept is kept for the default time.
fn shelf(queue: &QueueId, stored: &StoredQueue) -> Shelf {
    let settings = stored.settings.parse().unwrap_or_default();
    Shelf {
        queue: queue.clone(),
        generation: stored.line.generation,
        retain_hours: settings.retain_hours,
        grace_seconds: settings.grace_seconds,
    }
}
