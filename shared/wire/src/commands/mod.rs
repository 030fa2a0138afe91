//! The commands of operators: the name, the right and the meaning of each, its arguments and its results.
//!
//! To add a command, add it here, to `Admin::execute` and its two neighbours in `parse.rs`, which the compiler asks for, as an event
//! to `infra/events`, and with an example and its right to the guide, `docs/commands.md`, which tests ask for. A field that names a
//! visitor is also to be left out of the log of orders (`pending_order.rs`). `infra/openapi.sh render` makes `docs/commands.json` of
//! this table, and of that the reference and the types of the console.

mod arguments;
mod fields;

use serde_json::{Map, Value};
use vestibule_domain::right::Right;

pub use self::{arguments::*, fields::*};
use super::fields::{InvalidField, field_names, read_fields};

/// The field that names the operation.
pub const OPERATION_FIELD: &str = "op";
/// The field of every command in which an operator may say who gives it.
pub const CALLER_FIELD: &str = "caller";
/// The fields by which a command is confirmed.
const CONFIRMATION_FIELDS: [&str; 2] = ["confirm", "epoch"];

/// One command that operators can give.
#[derive(Debug)]
pub struct Operation {
    /// The value of the field `op`.
    pub name: &'static str,
    /// The least right of a caller who may give it.
    pub right: Right,
    /// Whether the command must repeat the queue's id and its epoch.
    pub needs_confirmation: bool,
    /// What the command does.
    meaning: &'static str,
    fields: fn() -> &'static [&'static str],
    read: fn(Value) -> Result<Command, InvalidField>,
    /// The schema of the arguments.
    #[cfg(feature = "schemas")]
    pub(crate) schema: fn(&mut schemars::SchemaGenerator) -> schemars::Schema,
    /// The schemas of what it may answer.
    #[cfg(feature = "schemas")]
    pub(crate) results: &'static [fn(&mut schemars::SchemaGenerator) -> schemars::Schema],
}

macro_rules! declare_commands {
    ($(
        $(#[doc = $meaning:literal])+
        $name:literal => $variant:ident($arguments:ty) -> $($result:ident)|+, $right:ident, confirmed: $confirmed:literal;
    )+) => {
        /// A command with its arguments.
        #[allow(missing_docs)] // Each is an operation of this name.
        pub enum Command {
            $($variant($arguments),)+
        }

        /// All commands.
        pub const OPERATIONS: &[Operation] = &[$(Operation {
            name: $name,
            right: Right::$right,
            needs_confirmation: $confirmed,
            meaning: concat!($($meaning),+),
            fields: field_names::<$arguments>,
            read: |fields| read_fields(fields, &unknown_field($name)).map(Command::$variant),
            #[cfg(feature = "schemas")]
            schema: schemars::SchemaGenerator::subschema_for::<$arguments>,
            #[cfg(feature = "schemas")]
            results: &[$(schemars::SchemaGenerator::subschema_for::<super::results::$result>),+],
        },)+];
    };
}

declare_commands! {
    /// Creates a queue, or each of up to 1,000, with these settings and the defaults of its prefix.
    "create" => Create(CreateOrder) -> CreatedQueue | CreatedQueues, Operate, confirmed: false;
    /// Shows, or with settings replaces, what new queues get by the prefix of their ids, such as TICKET:*.
    "defaults" => Defaults(DefaultsOrder) -> PrefixDefaults | AllDefaults, Operate, confirmed: false;
    /// Changes the given settings and no others. With revision, as describe shows it, the command is refused if one of them
    /// has changed since. A change that closes or finishes the queue, lets all visitors pass or makes the capacity ten times
    /// as large needs confirm and epoch, as close and finish do.
    "update" => Update(UpdateOrder) -> SettingsChange, Operate, confirmed: false;
    /// Shows a queue's settings; with help, also describes every setting and every command.
    "describe" => Describe(DescribeOrder) -> QueueDescription, Look, confirmed: false;
    /// Lists the queues, or those whose ids begin with a prefix, up to 10,000 at once; the next ones come with after.
    "list" => List(ListOrder) -> QueueList, Look, confirmed: false;
    /// Lets new visitors enter, also after finish; entries that finish has ended stay ended.
    "open" => Open(QueueOrder) -> SettingsChange, Operate, confirmed: false;
    /// Stops promotion; visitors may still enter.
    "pause" => Pause(QueueOrder) -> SettingsChange, Operate, confirmed: false;
    /// Resumes promotion.
    "resume" => Resume(QueueOrder) -> SettingsChange, Operate, confirmed: false;
    /// Drains the queue: refuses new visitors and promotes those who wait.
    "drain" => Drain(ConfirmedOrder) -> SettingsChange, Operate, confirmed: true;
    /// Closes the queue: refuses new visitors and stops promotion.
    "close" => Close(ConfirmedOrder) -> SettingsChange, End, confirmed: true;
    /// Ends the queue: refuses new visitors and tells every waiting visitor that it is over, sold_out or cancelled, with a last
    /// message. Ready visitors may still claim, and sessions go on.
    "finish" => Finish(FinishOrder) -> SettingsChange, End, confirmed: true;
    /// Deletes the queue for good: its entries, tokens and passes are void, also in a queue of the same id that is created
    /// later.
    "delete" => Delete(ConfirmedOrder) -> DeletedQueue, End, confirmed: true;
    /// Promotes at most this many entries now, or one entry wherever in line it is; with over_pace, that one beyond the pace,
    /// but never beyond the capacity.
    "promote" => Promote(PromoteOrder) -> Promotion | EntryPromotion, Operate, confirmed: false;
    /// Moves a waiting entry to a lane, from 0 (served first) to 7. The order of joining stays within the lane.
    "lane" => Lane(LaneOrder) -> LaneMove, Operate, confirmed: false;
    /// Removes an entry, or all that match; without the confirmation, says how many match.
    "evict" => Evict(EvictOrder) -> Eviction | Evictions, End, confirmed: true;
    /// Shows an entry.
    "inspect" => Inspect(InspectOrder) -> InspectedEntry, Look, confirmed: false;
    /// Shows from which sources the entries come, those with the most entries first.
    "sources" => Sources(SourcesOrder) -> SourceList, Look, confirmed: false;
    /// Lets a visitor, or all visitors of a source, no longer enter.
    "block" => Block(BlockOrder) -> BlockChange, Operate, confirmed: false;
    /// Ends a block.
    "unblock" => Unblock(UnblockOrder) -> BlockChange, Operate, confirmed: false;
    /// Shows the statistics of a queue.
    "stats" => Stats(QueueOrder) -> QueueStats, Look, confirmed: false;
    /// Shows what happened in a queue: totals, waits, the peak and the orders, as json or csv.
    "report" => Report(ReportOrder) -> QueueReport | CsvReport, Look, confirmed: false;
    /// Shows the entries of a state, or all, page by page.
    "entries" => Entries(EntriesOrder) -> EntryList, Look, confirmed: false;
    /// Compares the line with the backup and repairs differences.
    "check" => Check(CheckOrder) -> CheckResult, Operate, confirmed: false;
    /// Computes settings for a protected service with this demand, or the load and the cost of a crowd.
    "plan" => Plan(PlanOrder) -> ServicePlan | CrowdPlan, Look, confirmed: false;
    /// Asks Redis, the tables and the store of the signing keys whether they give what a sale needs.
    "preflight" => Preflight(PreflightOrder) -> PreflightResult, Look, confirmed: false;
    /// Restores the line from the backup.
    "restore" => Restore(ConfirmedOrder) -> RestoredQueue, End, confirmed: true;
    /// Empties the queue by starting a new generation; all earlier tokens and passes become void.
    "reset" => Reset(ConfirmedOrder) -> RestoredQueue, End, confirmed: true;
    /// Replaces the key that signs passes; no pass is refused. With leaked, the new key signs at once, and every earlier pass is
    /// void.
    "rotate" => Rotate(RotateOrder) -> KeyRotation, End, confirmed: false;
}

fn unknown_field(operation: &str) -> String {
    format!("the operation {operation} has no such field")
}

impl Operation {
    /// Finds the declaration of a command by its name.
    pub fn find(name: &str) -> Option<&'static Self> {
        OPERATIONS.iter().find(|operation| operation.name == name)
    }

    /// What the command does.
    pub fn meaning(&self) -> &'static str {
        self.meaning.trim_start()
    }

    /// The names of the fields apart from `op` and `caller`.
    pub fn field_names(&self) -> &'static [&'static str] {
        (self.fields)()
    }

    /// The names of the fields that say what the command is to do: without those of its confirmation, if it must be confirmed.
    pub fn arguments(&self) -> Vec<&'static str> {
        let is_argument = |name: &&&str| !(self.needs_confirmation && CONFIRMATION_FIELDS.contains(name));
        self.field_names().iter().filter(is_argument).copied().collect()
    }

    /// Whether the command has a field of this name.
    pub fn has_field(&self, name: &str) -> bool {
        [OPERATION_FIELD, CALLER_FIELD].contains(&name) || self.field_names().contains(&name)
    }

    /// Takes the field `op` from a command, which names the operation.
    ///
    /// # Errors
    /// The field is missing, or names no operation.
    pub fn take(command: &mut Map<String, Value>) -> Result<&'static Self, InvalidField> {
        let invalid = |detail: String| InvalidField {
            field: OPERATION_FIELD.to_owned(),
            detail,
        };
        let use_one = |what: &str| {
            let names: Vec<_> = OPERATIONS.iter().map(|operation| operation.name).collect();
            invalid(format!("{what}; use one of {}", names.join(", ")))
        };
        match command.remove(OPERATION_FIELD) {
            None | Some(Value::Null) => Err(use_one("is missing")),
            Some(Value::String(name)) => {
                Self::find(&name).ok_or_else(|| use_one(&format!("{name:?} is not an operation")))
            }
            Some(_) => Err(invalid("must be a string".to_owned())),
        }
    }

    /// Reads the fields of a command apart from `op` and `caller`. Reading is strict: nothing of a command with an unknown or
    /// invalid field may be carried out.
    ///
    /// # Errors
    /// The first field that is missing, unknown or invalid.
    pub fn read(&self, fields: Map<String, Value>) -> Result<Command, InvalidField> {
        (self.read)(Value::Object(fields))
    }
}
