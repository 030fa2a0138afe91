//! Reads the answers of an admin function.

use serde_json::Value;

use crate::{AdminCaller, AdminUnreachable};

/// The codes of problems that say that there is no such queue.
const NO_SUCH_QUEUE: [&str; 2] = ["unknown-queue", "queue-deleted"];

/// Why a command has no result.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum NoResult {
    /// There was no answer.
    Unreachable(AdminUnreachable),
    /// The admin function refused the command with this problem.
    Refused(Value),
}

impl NoResult {
    /// Whether the queue does not exist.
    pub(crate) fn is_unknown_queue(&self) -> bool {
        matches!(self, Self::Refused(problem)
            if problem["code"].as_str().is_some_and(|code| NO_SUCH_QUEUE.contains(&code)))
    }

    /// The reason for an operator to read.
    pub(crate) fn reason(&self) -> String {
        match self {
            Self::Unreachable(AdminUnreachable(reason)) => reason.clone(),
            Self::Refused(problem) => {
                let text = |member: &str| problem[member].as_str();
                let reason = text("detail").or(text("title"));
                reason
                    .unwrap_or("the admin function refused without a reason")
                    .to_owned()
            }
        }
    }
}

/// Sends a command and returns its result.
pub(crate) async fn ask(admin: &dyn AdminCaller, command: Value) -> Result<Value, NoResult> {
    let mut answer = admin.call(command).await.map_err(NoResult::Unreachable)?;
    match answer["ok"].as_bool() {
        Some(true) => Ok(answer["result"].take()),
        Some(false) => Err(NoResult::Refused(answer["problem"].take())),
        None => {
            let reason = "the answer is not that of an admin function: it lacks the field ok";
            Err(NoResult::Unreachable(AdminUnreachable(reason.to_owned())))
        }
    }
}
