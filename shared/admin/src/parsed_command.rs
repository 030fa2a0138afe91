//! Parses a command of operators from JSON. Parsing is strict: a command with an unknown or invalid
//! field is refused and changes nothing.

use serde_json::{Map, Value};
use vestibule_domain::right::Right;

use super::{
    Problem,
    command::{Command, Confirmation},
    command_fields::CommandFields,
    invocation::take_caller,
    operations::Operation,
};

/// A command as an operator gave it.
#[derive(Debug)]
pub(super) struct ParsedCommand {
    pub(super) operation: &'static Operation,
    pub(super) command: Command,
    /// `None` if the operation needs no confirmation, or the command has it.
    pub(super) confirmation: Option<Confirmation>,
}

impl ParsedCommand {
    /// Parses a command.
    ///
    /// # Errors
    /// [`Problem`] with the name of the first field that is missing, unknown or invalid.
    pub(super) fn parse(event: Value) -> Result<Self, Problem> {
        let Value::Object(mut object) = event else {
            return Err(Problem::not_an_object());
        };
        let operation = take_operation(&mut object)?;
        take_caller(&mut object)?;
        let mut fields = CommandFields::new(operation.name, operation.field_names(), object);
        let command = (operation.parse)(&mut fields)?;
        let confirmation = if operation.needs_confirmation && !matches!(command, Command::Delete(..)) {
            Some(fields.confirmation()?)
        } else {
            None
        };
        fields.reject_unread_fields()?;
        Ok(Self {
            operation,
            command,
            confirmation,
        })
    }

    /// Refuses the command if the caller's right is too little for its operation.
    pub(super) fn require_right(self, given: Right) -> Result<Self, Problem> {
        let needed = Right::needed_for(self.operation.name);
        if given < needed {
            return Err(Problem::right_needed(self.operation.name, needed));
        }
        Ok(self)
    }
}

/// Takes the field `op`, which names the operation.
fn take_operation(object: &mut Map<String, Value>) -> Result<&'static Operation, Problem> {
    let reason = |what: &str| format!("{what}; use one of {}", Operation::list_names());
    match object.remove("op") {
        None | Some(Value::Null) => Err(Problem::invalid_field("op", reason("is missing"))),
        Some(Value::String(name)) => Operation::find(&name)
            .ok_or_else(|| Problem::invalid_field("op", reason(&format!("{name:?} is not an operation")))),
        Some(_) => Err(Problem::invalid_field("op", "must be a string")),
    }
}
