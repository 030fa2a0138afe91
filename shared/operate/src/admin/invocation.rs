//! Who sent a command, as the call itself and the command say.

use serde_json::{Map, Value};

use super::Problem;

/// The field of every command in which an operator may say who gives it.
pub(super) const CALLER_FIELD: &str = "caller";

/// The longest name of a caller, in characters.
const CALLER_CHARS_MAX: usize = 200;

/// What the call of the function tells, apart from the command.
#[derive(Debug, Clone, Default)]
pub struct Invocation {
    /// The identity that AWS passes to the function, if it does: that of a Cognito user.
    pub identity: Option<String>,
    /// The id of the request, under which `CloudTrail` has the IAM identity of the caller.
    pub request_id: Option<String>,
}

/// Takes the field `caller` from a command. Every operation has it, so none declares it.
///
/// # Errors
/// [`Problem`] if the field is not a short text in one line.
pub(super) fn take_caller(command: &mut Map<String, Value>) -> Result<Option<String>, Problem> {
    match command.remove(CALLER_FIELD) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(name))
            if (1..=CALLER_CHARS_MAX).contains(&name.chars().count()) && !name.contains(char::is_control) =>
        {
            Ok(Some(name))
        }
        Some(_) => {
            let reason = format!("must be a text of 1 to {CALLER_CHARS_MAX} characters in one line");
            Err(Problem::invalid_field(CALLER_FIELD, reason))
        }
    }
}
