//! What a visitor does, and what comes of it.

use std::sync::Arc;

use serde::{Serialize, Serializer};
use vestibule_wire::{Entry, PublicDocument};

use crate::{
    door::{Caller, Door, ProtectedService},
    rules::{Refusal, RequestKind},
};

/// What a visitor, or the protected service for a visitor, does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Act {
    /// Reads the public document.
    Document,
    /// Enters the queue.
    Enter,
    /// Asks for the state of the entry, at once.
    Poll,
    /// Asks for the state of the entry, and lets the server hold the answer.
    HeldPoll {
        /// For how long, in seconds.
        seconds: u32,
    },
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
    /// Sends nothing: the visitor wakes, comes back, or gives up without a word.
    Turn,
}

/// What came of an act.
#[derive(Debug, Clone)]
pub enum Answer {
    /// The entry.
    Entry(Box<Entry>),
    /// The public document.
    Document(Arc<PublicDocument>),
    /// Nothing else is said.
    Done,
}

/// What a visitor does next, and when.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Due {
    /// What.
    pub act: Act,
    /// When, in Unix milliseconds. It may be past.
    pub at_ms: f64,
}

impl Act {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Document => "document",
            Self::Enter => "enter",
            Self::Poll => "poll",
            Self::HeldPoll { .. } => "held poll",
            Self::Claim => "claim",
            Self::Validate => "validate",
            Self::Extend => "extend",
            Self::Complete => "complete",
            Self::Leave => "leave",
            Self::Look => "look",
            Self::Turn => "turn",
        }
    }

    /// Whether the protected service sends the request.
    pub fn is_of_service(self) -> bool {
        matches!(self, Self::Validate | Self::Complete)
    }

    /// The request of the client, if it is one of those that the rules know.
    pub(crate) fn request_kind(self) -> Option<RequestKind> {
        match self {
            Self::Document => Some(RequestKind::Document),
            Self::Enter => Some(RequestKind::Enter),
            Self::Poll | Self::Look => Some(RequestKind::Status { hold_seconds: 0 }),
            Self::HeldPoll { seconds } => Some(RequestKind::Status {
                hold_seconds: seconds,
            }),
            Self::Claim => Some(RequestKind::Claim),
            _ => None,
        }
    }
}

impl Serialize for Act {
    /// Its name as one word, such as `held_poll`.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.name().replace(' ', "_"))
    }
}

impl From<RequestKind> for Act {
    fn from(kind: RequestKind) -> Self {
        match kind {
            RequestKind::Enter => Self::Enter,
            RequestKind::Status { hold_seconds: 0 } => Self::Poll,
            RequestKind::Status { hold_seconds } => Self::HeldPoll {
                seconds: hold_seconds,
            },
            RequestKind::Claim => Self::Claim,
            RequestKind::Document => Self::Document,
        }
    }
}

/// Sends the request of an act. `token` and `visit` are those of the entry, if there is one.
///
/// # Errors
/// What the server answered instead, or [`Refusal::NO_ANSWER`].
pub async fn send<D: Door + ProtectedService>(
    door: &D,
    act: Act,
    caller: &Caller,
    token: &str,
    visit: u64,
) -> Result<Answer, Refusal> {
    let entry = |entry: Entry| Answer::Entry(Box::new(entry));
    let done = |()| Answer::Done;
    match act {
        Act::Document => door.document().await.map(Answer::Document),
        Act::Enter => door.enter(caller).await.map(entry),
        Act::Poll | Act::Look => door.status(caller, token, 0).await.map(entry),
        Act::HeldPoll { seconds } => door.status(caller, token, seconds).await.map(entry),
        Act::Claim => door.claim(caller, token).await.map(entry),
        Act::Leave => door.leave(caller, token, visit).await.map(done),
        Act::Validate => door.validate(caller, token, visit).await.map(done),
        Act::Complete => door.complete(token, visit).await.map(done),
        Act::Extend => door.extend(caller, token, visit).await.map(entry),
        Act::Turn => Ok(Answer::Done),
    }
}
