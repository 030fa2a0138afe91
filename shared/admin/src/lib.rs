//! The commands of operators. One function takes `{"op": …, "queue": …, "settings": {…}}` and
//! answers `{"ok": true, "result": {…}}` or `{"ok": false, "problem": {…}}`.
//!
//! A command writes the backup first and the line second. After a crash between the two, the
//! promoter applies the stored settings within seconds. In the other order, settings could be in
//! force that are stored nowhere.

mod block;
mod brake;
mod change_words;
mod check;
mod command;
mod command_fields;
mod create;
mod create_many;
mod defaults;
mod defaults_order;
mod delete;
mod describe;
mod entries;
mod entries_order;
mod entry;
mod evict;
mod invocation;
mod iso_times;
mod lane;
mod limit_advice;
mod line_entries;
mod operations;
mod orders;
mod overtaken;
mod parsed_command;
mod pending_order;
mod plan;
mod plan_order;
mod preflight;
mod preflight_findings;
mod problem;
mod promote;
mod queue_fields;
mod recover;
mod report;
mod report_content;
mod report_csv;
mod report_fields;
mod report_order;
mod root_key;
mod rotate;
mod selector_fields;
mod settings;
mod signing_keys;
mod sources;
mod stats;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde_json::{Value, json};
use tracing::{info, warn};
use vestibule_backup::{Backup, EntryPartition, QueueLookup, StoredQueue};
use vestibule_domain::{id::QueueId, right::Right, settings::Entrance};
use vestibule_engine::sync::SettingsPolicy;
use vestibule_line::Line;

pub use self::{
    check::CHECK_TIME_MAX,
    invocation::Invocation,
    operations::{OPERATIONS, Operation},
    plan::plan_without_deployment,
    problem::Problem,
    root_key::OperatorRootKey,
    signing_keys::SigningKeys,
};
use self::{
    command::{Command, Confirmation, EvictSelector, PromoteSelector},
    iso_times::add_iso_times,
    parsed_command::ParsedCommand,
    pending_order::PendingOrder,
};

/// Carries out the commands of operators.
#[derive(Clone)]
pub struct Admin {
    /// The line.
    pub line: Line,
    /// The backup.
    pub backup: Arc<dyn Backup>,
    /// The key from which the entry id of a visitor is derived. It is fetched for the first command that names one.
    pub root_key: OperatorRootKey,
    /// What this deployment allows the settings of its queues to contain.
    pub policy: SettingsPolicy,
    /// The keys that sign passes.
    pub signing_keys: SigningKeys,
}

impl Admin {
    /// Carries out one command and returns its answer as JSON. Every event gets an answer, also an
    /// invalid one.
    pub async fn handle(&self, event: Value) -> Value {
        self.handle_as(event, &Invocation::default()).await
    }

    /// Carries out one command as [`handle`](Self::handle) does, for a caller whom the invocation may tell. A command that
    /// changes a queue goes into the queue's log of orders.
    pub async fn handle_as(&self, event: Value, invocation: &Invocation) -> Value {
        // The log contains only a valid operation and a valid queue id. Any other value may hold
        // something that must not be logged, such as a visitor id.
        let operation = event["op"].as_str().and_then(Operation::find);
        let op = operation.map(|operation| operation.name);
        let order = operation.and_then(|operation| PendingOrder::new(operation, &event, invocation));
        let queue = event["queue"].as_str().and_then(|text| text.parse().ok());
        let queue = queue.as_ref().map(QueueId::as_str);
        let parsed = ParsedCommand::parse(event);
        let outcome = match parsed.and_then(|parsed| parsed.require_right(invocation.right)) {
            Ok(parsed) => self.confirm_and_execute(parsed, invocation.right).await,
            Err(problem) => Err(problem),
        };
        let mut answer = match outcome {
            Ok(result) => {
                if let Some(order) = order {
                    self.record_order(order.with_result(&result)).await;
                }
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
        };
        add_iso_times(&mut answer);
        answer
    }

    async fn confirm_and_execute(&self, parsed: ParsedCommand, right: Right) -> Result<Value, Problem> {
        if let Some(confirmation) = &parsed.confirmation {
            let confirmed = self.require_confirmation(parsed.operation, confirmation).await;
            if let Err(problem) = confirmed {
                return Err(self.describe_effect(problem, &parsed.command).await?);
            }
        }
        self.execute(parsed.command, right).await
    }

    async fn execute(&self, command: Command, right: Right) -> Result<Value, Problem> {
        match command {
            Command::Create(queue, settings) => self.create(&queue, &settings).await,
            Command::Update(order) => self.update(&order, right).await,
            Command::CreateMany(names, settings) => self.create_many(&names, &settings).await,
            Command::Defaults(order) => self.defaults(order).await,
            Command::Describe(queue, help) => self.describe(&queue, help).await,
            Command::List(order) => self.list(&order).await,
            Command::Open(queue) => self.open(&queue).await,
            Command::Pause(queue) => self.switch(&queue, "paused", json!(true)).await,
            Command::Resume(queue) => self.switch(&queue, "paused", json!(false)).await,
            Command::Drain(queue) => self.switch(&queue, "entrance", json!(Entrance::Draining)).await,
            Command::Close(queue) => self.switch(&queue, "entrance", json!(Entrance::Closed)).await,
            Command::Delete(queue, confirmation) => self.delete(&queue, &confirmation).await,
            Command::Finish(queue, reason, message) => self.finish(&queue, reason, message).await,
            Command::Promote(queue, PromoteSelector::Count(count)) => self.promote(&queue, count).await,
            Command::Promote(queue, PromoteSelector::One(whom, over_pace)) => {
                self.promote_one(&queue, &whom, over_pace).await
            }
            Command::Lane(queue, whom, lane) => self.move_to_lane(&queue, &whom, lane).await,
            Command::Evict(queue, EvictSelector::One(whom)) => self.evict_one(&queue, &whom).await,
            Command::Evict(queue, EvictSelector::Many(filter)) => self.evict_matching(&queue, &filter).await,
            Command::Sources(queue, limit) => self.sources(&queue, limit).await,
            Command::Block(queue, whom, seconds) => self.block(&queue, &whom, seconds).await,
            Command::Unblock(queue, whom) => self.unblock(&queue, &whom).await,
            Command::Restore(queue) => self.restore(&queue).await,
            Command::Reset(queue) => self.reset(&queue).await,
            Command::Inspect(queue, whom) => self.inspect(&queue, &whom).await,
            Command::Stats(queue) => self.stats(&queue).await,
            Command::Report(queue, order) => self.report(&queue, order).await,
            Command::Entries(queue, order) => self.entries(&queue, &order).await,
            Command::Check(queue, from_shard) => self.check(&queue, from_shard).await,
            Command::Plan(order) => plan::plan(&order),
            Command::Preflight => self.preflight().await,
            Command::Rotate { leaked: false } => self.rotate().await,
            Command::Rotate { leaked: true } => self.replace_leaked_keys().await,
        }
    }

    /// Adds to the problem of a command without its confirmation what the command would do.
    async fn describe_effect(&self, problem: Problem, command: &Command) -> Result<Problem, Problem> {
        match command {
            Command::Evict(queue, EvictSelector::Many(filter)) if problem.needs_confirmation() => {
                Ok(problem.with_matching(self.preview_evict(queue, filter).await?))
            }
            _ => Ok(problem),
        }
    }

    /// Refuses a command that does not repeat the queue's id and its current epoch.
    async fn require_confirmation(&self, operation: &Operation, given: &Confirmation) -> Result<(), Problem> {
        let epoch = match self.read_stored_queue(&given.queue).await {
            // The brake works while the backup is away. The line's epoch is that of the backup, or an earlier one.
            Err(problem) if problem.is_of_absent_backup() => {
                let view = self.line.queue_view(&given.queue).await;
                view.map_err(|_| problem)?.configuration.epoch
            }
            stored => stored?.metadata.epoch,
        };
        given.verify(operation.name, epoch)
    }

    async fn read_stored_queue(&self, queue: &QueueId) -> Result<StoredQueue, Problem> {
        match self.backup.look_up_queue(queue).await? {
            QueueLookup::Present(stored) => Ok(stored),
            QueueLookup::Deleted(tombstone) => Err(Problem::queue_deleted(&tombstone)),
            QueueLookup::Absent => Err(Problem::unknown_queue()),
        }
    }
}

/// Returns the partition of a stored queue's entries. If the stored settings are invalid, the
/// defaults set how long the records of ended entries are kept.
fn entry_partition(queue: &QueueId, stored: &StoredQueue) -> EntryPartition {
    let settings = stored.settings.parse().unwrap_or_default();
    EntryPartition {
        queue: queue.clone(),
        generation: stored.metadata.generation,
        retain_hours: settings.retain_hours,
        grace_seconds: settings.grace_seconds,
    }
}
