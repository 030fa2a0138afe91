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
mod confirmation;
mod create;
mod create_many;
mod defaults;
mod defaults_action;
mod delete;
mod describe;
mod entries;
mod entries_cursor;
mod entry;
mod evict;
mod given_settings;
mod invocation;
mod iso_times;
mod lane;
mod limit_advice;
mod line_entries;
mod orders;
mod overtaken;
mod parse;
mod pending_order;
mod plan;
mod preflight;
mod preflight_findings;
mod problem;
mod promote;
mod recover;
mod report;
mod report_content;
mod report_csv;
mod root_key;
mod rotate;
mod selectors;
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
use vestibule_domain::{
    id::QueueId,
    right::Right,
    settings::{Entrance, FinishReason},
};
use vestibule_engine::sync::SettingsPolicy;
use vestibule_line::Line;
use vestibule_wire::commands::{Command, CreateOrder, OneOf, Whole};
pub use vestibule_wire::commands::{OPERATIONS, Operation};

pub use self::{
    check::CHECK_TIME_MAX, describe::describe_build, invocation::Invocation, problem::Problem,
    root_key::OperatorRootKey, signing_keys::SigningKeys,
};
use self::{
    confirmation::Confirmation,
    given_settings::in_ms,
    iso_times::add_iso_times,
    parse::{ParsedCommand, read_queue_id},
    pending_order::PendingOrder,
    selectors::{
        EvictSelector, PromoteSelector, select_blocked, select_entry, select_evicted, select_promoted,
    },
};

/// How many sources the command `sources` shows if it does not say.
const SOURCES_SHOWN: u32 = 20;

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
        if let Some(confirmation) = Confirmation::of(&parsed.command) {
            let confirmed = self.require_confirmation(parsed.operation, confirmation).await;
            if let Err(problem) = confirmed {
                return Err(self.describe_effect(problem, &parsed.command).await?);
            }
        }
        // On the heap, because it is as large as the largest command.
        Box::pin(self.execute(parsed.command, right)).await
    }

    async fn execute(&self, command: Command, right: Right) -> Result<Value, Problem> {
        match command {
            Command::Create(order) => self.create_ordered(order).await,
            Command::Update(order) => self.update(&order, right).await,
            Command::Defaults(order) => self.defaults(&order).await,
            Command::Describe(order) => self.describe(&order.queue, order.help.unwrap_or_default()).await,
            Command::List(order) => self.list(&order).await,
            Command::Open(order) => self.open(&order.queue).await,
            Command::Pause(order) => self.switch(&order.queue, "paused", json!(true)).await,
            Command::Resume(order) => self.switch(&order.queue, "paused", json!(false)).await,
            Command::Drain(order) => {
                self.switch(&order.queue, "entrance", json!(Entrance::Draining))
                    .await
            }
            Command::Close(order) => {
                self.switch(&order.queue, "entrance", json!(Entrance::Closed))
                    .await
            }
            Command::Delete(order) => {
                let confirmation = Confirmation::new(&order.queue, order.confirm.as_ref(), order.epoch);
                self.delete(&order.queue, confirmation).await
            }
            Command::Finish(order) => {
                let reason = order.reason.map_or(FinishReason::Over, |OneOf(reason)| reason);
                self.finish(&order.queue, reason, order.message).await
            }
            Command::Promote(order) => match select_promoted(&order)? {
                PromoteSelector::Count(count) => self.promote(&order.queue, count).await,
                PromoteSelector::One(whom, over_pace) => {
                    self.promote_one(&order.queue, &whom, over_pace).await
                }
            },
            Command::Lane(order) => {
                let whom = select_entry(order.token, order.visitor.as_deref(), order.kind)?;
                self.move_to_lane(&order.queue, &whom, order.lane()).await
            }
            Command::Evict(order) => match select_evicted(&order)? {
                EvictSelector::One(whom) => self.evict_one(&order.queue, &whom).await,
                EvictSelector::Many(filter) => self.evict_matching(&order.queue, &filter).await,
            },
            Command::Inspect(order) => {
                let whom = select_entry(order.token, order.visitor.as_deref(), order.kind)?;
                self.inspect(&order.queue, &whom).await
            }
            Command::Sources(order) => {
                let limit = order.limit.map_or(SOURCES_SHOWN, Whole::get);
                self.sources(&order.queue, limit).await
            }
            Command::Block(order) => {
                let whom = select_blocked(order.token, order.visitor.as_deref(), order.kind, order.source)?;
                let for_seconds = order.for_seconds.map(Whole::get);
                self.block(&order.queue, &whom, for_seconds).await
            }
            Command::Unblock(order) => {
                let whom = select_blocked(order.token, order.visitor.as_deref(), order.kind, order.source)?;
                self.unblock(&order.queue, &whom).await
            }
            Command::Restore(order) => self.restore(&order.queue).await,
            Command::Reset(order) => self.reset(&order.queue).await,
            Command::Stats(order) => self.stats(&order.queue).await,
            Command::Report(order) => self.report(&order).await,
            Command::Entries(order) => self.entries(&order).await,
            Command::Check(order) => self.check(&order.queue, order.from_shard()).await,
            Command::Plan(order) => plan::plan(&order),
            Command::Preflight(_) => self.preflight().await,
            Command::Rotate(order) if order.leaked.unwrap_or_default() => self.replace_leaked_keys().await,
            Command::Rotate(_) => self.rotate().await,
        }
    }

    /// Creates the queue of an order, or its queues.
    async fn create_ordered(&self, order: CreateOrder) -> Result<Value, Problem> {
        let settings = in_ms(&order.settings.0)?;
        match order.queues {
            None => {
                self.create(&read_queue_id(order.queue.as_deref())?, &settings)
                    .await
            }
            Some(names) => {
                // A single queue beside the list is the first of the order.
                let one = order.queue.map(Value::String);
                let names: Vec<_> = one.into_iter().chain(names).collect();
                self.create_many(&names, &settings).await
            }
        }
    }

    /// Adds to the problem of a command without its confirmation what the command would do.
    async fn describe_effect(&self, problem: Problem, command: &Command) -> Result<Problem, Problem> {
        match command {
            Command::Evict(order) if problem.needs_confirmation() => match select_evicted(order)? {
                EvictSelector::Many(filter) => {
                    Ok(problem.with_matching(self.preview_evict(&order.queue, &filter).await?))
                }
                EvictSelector::One(_) => Ok(problem),
            },
            _ => Ok(problem),
        }
    }

    /// Refuses a command that does not repeat the queue's id and its current epoch.
    async fn require_confirmation(
        &self,
        operation: &Operation,
        given: Confirmation<'_>,
    ) -> Result<(), Problem> {
        let epoch = match self.read_stored_queue(given.queue).await {
            // The brake works while the backup is away. The line's epoch is that of the backup, or an earlier one.
            Err(problem) if problem.is_of_absent_backup() => {
                let view = self.line.queue_view(given.queue).await;
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

/// Carries out a command `plan` without a deployment: it needs none.
///
/// # Errors
/// [`Problem`] with the name of the field that is wrong, or if the command is another one.
pub fn plan_without_deployment(command: Value) -> Result<Value, Problem> {
    match ParsedCommand::parse(command)?.command {
        Command::Plan(order) => plan::plan(&order),
        _ => Err(Problem::invalid_field("op", "must be plan")),
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
