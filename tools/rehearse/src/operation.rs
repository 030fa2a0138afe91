//! The requests that a rehearsal sends.

use serde::Serialize;

/// What a request asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Operation {
    /// Reads the public document.
    Document,
    /// Enters the queue.
    Enter,
    /// Asks for the state of the entry, at once.
    Poll,
    /// Asks for the state of the entry, and lets the server hold the answer.
    HeldPoll,
    /// Claims the turn.
    Claim,
    /// The protected service asks whether the visitor may act.
    Validate,
    /// Makes the session longer.
    Extend,
    /// The protected service has finished with the visitor.
    Complete,
    /// Leaves the queue.
    Leave,
    /// Asks what became of an entry whose visitor was silent.
    Look,
}

impl Operation {
    /// The name in the report.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Document => "document",
            Self::Enter => "enter",
            Self::Poll => "poll",
            Self::HeldPoll => "held poll",
            Self::Claim => "claim",
            Self::Validate => "validate",
            Self::Extend => "extend",
            Self::Complete => "complete",
            Self::Leave => "leave",
            Self::Look => "look",
        }
    }

    /// Whether the protected service sends the request.
    pub(crate) fn is_of_service(self) -> bool {
        matches!(self, Self::Validate | Self::Complete)
    }

    /// Whether an answer with this code is a failure. The visitor who looks after a silent entry expects that it has ended.
    pub(crate) fn is_failure(self, code: &str) -> bool {
        self != Self::Look || code != "expired"
    }
}
