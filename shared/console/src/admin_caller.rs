//! The way to an admin function.

use async_trait::async_trait;
use serde_json::Value;
use vestibule_domain::right::Right;

/// The admin function gave no answer. The text says why, and what an operator can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdminUnreachable(pub String);

/// How long line and backup take to answer, in milliseconds. `None` if the caller cannot measure it, or if there was no
/// answer.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RoundTrips {
    /// The line.
    pub line_ms: Option<f64>,
    /// The backup.
    pub backup_ms: Option<f64>,
}

/// Sends commands to an admin function.
#[async_trait]
pub trait AdminCaller: Send + Sync {
    /// Sends one command, `{"op": …}`, and returns the answer, `{"ok": …}`. A refused command is no error.
    ///
    /// # Errors
    /// [`AdminUnreachable`] if there is no answer. The command may have been carried out.
    async fn call(&self, command: Value) -> Result<Value, AdminUnreachable>;

    /// The most that the operator may order. The page offers no more.
    fn right(&self) -> Right {
        Right::End
    }

    /// Measures how long line and backup take to answer. An admin function of a stack does not tell.
    async fn measure_round_trips(&self) -> RoundTrips {
        RoundTrips::default()
    }
}
