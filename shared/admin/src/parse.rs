//! Reads a command of operators. Nothing of a command that is not valid is carried out.

use serde_json::{Map, Value};
use vestibule_backup::SettingsRevision;
use vestibule_domain::{
    id::QueueId,
    right::Right,
    settings::{FIELDS, Field, FieldType, Settings, SettingsError, times_in_ms},
};
use vestibule_wire::{
    InvalidField,
    commands::{Command, Operation, UpdateOrder, Whole},
};

use super::{
    Problem,
    defaults::DefaultsAction,
    entries_cursor::read_cursor,
    invocation::take_caller,
    plan::Sizing,
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

/// The settings that an update changes, with their times in Unix milliseconds.
pub(super) fn read_settings(order: &UpdateOrder) -> Result<Map<String, Value>, Problem> {
    if order.settings.0.is_empty() {
        return Err(Problem::invalid_field(
            "settings",
            "must name at least one setting to change",
        ));
    }
    in_ms(&order.settings.0)
}

/// The settings that the operator of an update has seen.
pub(super) fn read_revision(order: &UpdateOrder) -> Result<Option<SettingsRevision>, Problem> {
    let not_shown = || Problem::invalid_field("revision", "must be the revision that describe shows");
    let text = order.revision.as_deref();
    text.map(|text| SettingsRevision::from_text(text).ok_or_else(not_shown))
        .transpose()
}

/// Refuses a last message that the setting of that name may not be.
fn validate_message(message: &Value) -> Result<(), Problem> {
    let given = Map::from_iter([("message".to_owned(), message.clone())]);
    let checked = Settings::default().with_fields(&given);
    checked
        .map(drop)
        .map_err(|error| Problem::invalid_setting(&error))
}

/// The given settings, with their times in Unix milliseconds. An order names each time once.
pub(super) fn in_ms(given: &Map<String, Value>) -> Result<Map<String, Value>, Problem> {
    let is_twice = |field: &&Field| {
        let is_time = field.field_type == FieldType::Time;
        is_time && given.contains_key(field.name) && given.contains_key(field.text_name())
    };
    if let Some(field) = FIELDS.iter().find(is_twice) {
        return Err(Problem::invalid_setting(&SettingsError {
            field: field.text_name().to_owned(),
            reason: format!(
                "must not be given together with {}; give one of the two",
                field.name
            ),
        }));
    }
    let given = times_in_ms(given).map_err(|error| Problem::invalid_setting(&error))?;
    Ok(given.into_owned())
}

/// The values that a destructive command must repeat, so that the console's test button does not
/// run such a command twice by accident. Parsing does not verify the values, because the right ones
/// are known only once the queue was read.
#[derive(Clone, Copy)]
pub(super) struct Confirmation<'a> {
    /// The queue of the command.
    pub(super) queue: &'a QueueId,
    /// The queue's id, repeated.
    pub(super) confirm: Option<&'a str>,
    /// The queue's current epoch.
    pub(super) epoch: Option<u32>,
}

impl<'a> Confirmation<'a> {
    pub(super) fn new(
        queue: &'a QueueId,
        confirm: Option<&'a String>,
        epoch: Option<Whole<0, { u32::MAX }>>,
    ) -> Self {
        Self {
            queue,
            confirm: confirm.map(String::as_str),
            epoch: epoch.map(Whole::get),
        }
    }

    /// The confirmation of a command that needs one, except of `delete`, which may complete an earlier one without.
    pub(super) fn of(command: &'a Command) -> Option<Self> {
        match command {
            Command::Drain(order)
            | Command::Close(order)
            | Command::Restore(order)
            | Command::Reset(order) => Some(Self::new(&order.queue, order.confirm.as_ref(), order.epoch)),
            Command::Finish(order) => Some(Self::new(&order.queue, order.confirm.as_ref(), order.epoch)),
            Command::Evict(order) => Some(Self::new(&order.queue, order.confirm.as_ref(), order.epoch)),
            _ => None,
        }
    }

    /// Succeeds if the values are right for a queue of this epoch.
    ///
    /// # Errors
    /// [`Problem`] that says what to add to the command `op`.
    pub(super) fn verify(self, op: &str, epoch: u32) -> Result<(), Problem> {
        let wrong = if self.confirm != Some(self.queue.as_str()) {
            "confirm"
        } else if self.epoch != Some(epoch) {
            "epoch"
        } else {
            return Ok(());
        };
        Err(Problem::confirmation_needed(
            op,
            wrong,
            self.queue.as_str(),
            epoch,
        ))
    }
}
