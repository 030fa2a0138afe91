//! What a preflight asks of a line.

use async_trait::async_trait;

use super::{LineError, QueueLine, ServerAnswers};

/// Asking the server of a line whether it gives what the line needs of it.
#[async_trait]
pub trait PreflightLine: QueueLine {
    /// Asks the server. It changes no data. Returns `None` if the line has no server.
    ///
    /// # Errors
    /// [`LineError::Unavailable`] if the server does not answer. What the server refuses is no error but an answer.
    async fn ask_server(&self) -> Result<Option<ServerAnswers>, LineError>;
}
