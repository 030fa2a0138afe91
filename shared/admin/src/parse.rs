//! Reads a command of operators. Nothing of a command that is not valid is carried out.

use serde_json::{Map, Value};
use vestibule_domain::{id::QueueId, right::Right, settings::Settings};
use vestibule_wire::{
    InvalidField,
    commands::{Command, Operation},
};

use super::{
    defaults_action::DefaultsAction,
    entries_cursor::read_cursor,
    given_settings::{in_ms, read_revision, read_settings},
    invocation::take_caller,
    plan::Sizing,
    problem::Problem,
    selectors::{select_blocked, select_entry, select_evicted, select_promoted},
};

/// A command as an operator gave it.
pub(super) struct ParsedCommand {
    pub(super) operation: &'static Operation,
    pub(super) command: Command,
}

impl ParsedCommand {
    /// Parses a command.
    ///
    /// # Errors
    /// [`Problem`] with the name of the first field that is missing, unknown, invalid or against another one.
    pub(super) fn parse(event: Value) -> Result<Self, Problem> {
        let Value::Object(mut fields) = event else {
            return Err(Problem::not_an_object());
        };
        let operation = Operation::take(&mut fields)?;
        take_caller(&mut fields)?;
        let command = operation.read(fields)?;
        validate(&command)?;
        Ok(Self { operation, command })
    }

    /// Refuses the command if the caller's right is too little for its operation.
    pub(super) fn require_right(self, given: Right) -> Result<Self, Problem> {
        let needed = self.operation.right;
        if given < needed {
            return Err(Problem::right_needed(self.operation.name, needed));
        }
        Ok(self)
    }
}

impl From<InvalidField> for Problem {
    fn from(InvalidField { field, detail }: InvalidField) -> Self {
        Self::invalid_field(&field, detail)
    }
}

/// Refuses a command for what no field shows alone. The fields are read again when it is carried out: that is cheap, and it may
/// wait for a confirmation until then.
fn validate(command: &Command) -> Result<(), Problem> {
    match command {
        Command::Create(order) => {
            if order.queues.is_none() {
                read_queue_id(order.queue.as_deref())?;
            }
            in_ms(&order.settings.0).map(drop)
        }
        Command::Defaults(order) => DefaultsAction::of(order).map(drop),
        Command::Update(order) => {
            read_settings(order)?;
            read_revision(order).map(drop)
        }
        Command::Finish(order) => order.message.as_ref().map_or(Ok(()), validate_message),
        Command::Promote(order) => select_promoted(order).map(drop),
        Command::Lane(order) => select_entry(order.token, order.visitor.as_deref(), order.kind).map(drop),
        Command::Inspect(order) => select_entry(order.token, order.visitor.as_deref(), order.kind).map(drop),
        Command::Evict(order) => select_evicted(order).map(drop),
        Command::Block(order) => {
            select_blocked(order.token, order.visitor.as_deref(), order.kind, order.source).map(drop)
        }
        Command::Unblock(order) => {
            select_blocked(order.token, order.visitor.as_deref(), order.kind, order.source).map(drop)
        }
        Command::Entries(order) => read_cursor(order).map(drop),
        Command::Plan(order) => Sizing::of(order).map(drop),
        Command::Describe(_)
        | Command::List(_)
        | Command::Open(_)
        | Command::Pause(_)
        | Command::Resume(_)
        | Command::Drain(_)
        | Command::Close(_)
        | Command::Delete(_)
        | Command::Sources(_)
        | Command::Stats(_)
        | Command::Report(_)
        | Command::Check(_)
        | Command::Preflight(_)
        | Command::Restore(_)
        | Command::Reset(_)
        | Command::Rotate(_) => Ok(()),
    }
}

/// Reads the id of the only queue to create.
pub(super) fn read_queue_id(text: Option<&str>) -> Result<QueueId, Problem> {
    let text = text.ok_or_else(|| Problem::invalid_field("queue", "is missing"))?;
    text.parse().map_err(|error| Problem::invalid_id("queue", &error))
}

/// Refuses a last message that the setting of that name may not be.
fn validate_message(message: &Value) -> Result<(), Problem> {
    let given = Map::from_iter([("message".to_owned(), message.clone())]);
    let checked = Settings::default().with_fields(&given);
    checked
        .map(drop)
        .map_err(|error| Problem::invalid_setting(&error))
}
