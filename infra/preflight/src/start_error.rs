//! The errors that end the process before it has a finding. Each is one line that says what to do if the user can act.

use vestibule_stack::StackError;

/// Why the preflight could not run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StartError {
    #[error(transparent)]
    Stack(#[from] StackError),
    #[error(
        "your AWS credentials may not give commands: they need the right lambda:InvokeFunction for it. {0}"
    )]
    InvokeForbidden(String),
}
