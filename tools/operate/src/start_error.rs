//! The errors that end the process. Each is one line that says what to do if the user can act.

use std::io;

use vestibule_aws::stack::StackError;

/// Why the console did not start, or ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StartError {
    #[error(transparent)]
    Stack(#[from] StackError),
    #[error("the process cannot listen on port {0}: {1}; choose another port with PORT")]
    Port(u16, io::Error),
    #[error("the process cannot listen for signals: {0}")]
    Signals(io::Error),
    #[error("the HTTP server stopped early: {0}")]
    Serving(io::Error),
}
