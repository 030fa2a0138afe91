//! Problem details (RFC 9457): why a request or a command was not carried out.

mod code;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use vestibule_domain::{settings::FinishReason, state::EntryState};

pub use self::code::{Audience, Code};
use super::Message;

/// Problem details (RFC 9457). Rely on code, whose meaning never changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Problem {
    /// A URN that ends with the code.
    #[cfg_attr(
        feature = "schemas",
        schemars(example = "urn:problem-type:vestibule:not-your-turn")
    )]
    pub r#type: String,
    /// What the code means, for readers.
    #[cfg_attr(feature = "schemas", schemars(example = "The entry has not been let in yet"))]
    pub title: Cow<'static, str>,
    /// The HTTP status. That of a command is the status of the same meaning.
    #[cfg_attr(feature = "schemas", schemars(range(min = 400, max = 599)))]
    pub status: u16,
    /// What went wrong.
    #[cfg_attr(
        feature = "schemas",
        schemars(schema_with = "super::schemas::code", example = "not-your-turn")
    )]
    pub code: Code,
    /// A sentence. What visitors meet has title and detail in the first language of `Accept-Language` that the waiting page
    /// speaks, and `Content-Language`; what only programs meet, and what caches keep for all, is in English.
    pub detail: Cow<'static, str>,
    /// The invalid part of the request, in a 400.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// Why the ticket is not valid, with the code `invalid-ticket`, or why the visit has `expired`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// The last state, in a 410. `dismissed`: the queue was finished while the visitor waited.
    #[cfg_attr(feature = "schemas", schemars(schema_with = "super::schemas::ended_state"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<EntryState>,
    /// The last visit, in a 410.
    #[cfg_attr(feature = "schemas", schemars(schema_with = "super::schemas::visit"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub visit: Option<u64>,
    /// When it ended, in a 410.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at_ms: Option<u64>,
    /// In a 410 for a missed turn: a visitor who enters again before this time gets the old place back, once. Absent if the
    /// place is not kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grace_until_ms: Option<u64>,
    /// The same as a duration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grace_in_ms: Option<u64>,
    /// With the code `queue-finished`: why the queue is over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<FinishReason>,
    #[allow(missing_docs)] // Its members are those of the problem.
    #[serde(flatten)]
    pub message: Message,
    /// With the code `queue-deleted`: passes with a lower epoch are void, which are all of the deleted queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_epoch: Option<u32>,
    /// What only operators are told.
    #[cfg_attr(feature = "schemas", schemars(skip))]
    #[serde(flatten)]
    pub for_operators: Map<String, Value>,
    /// Identifies the request in the logs. A command has none.
    #[cfg_attr(feature = "schemas", schemars(with = "String"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

/// More about a problem than its code says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema), schemars(inline))]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// The ticket is no signed JWT with an object as claims.
    Malformed,
    /// The queue does not have the key that the ticket names.
    UnknownKey,
    /// The algorithm is another one than that of the key.
    WrongAlgorithm,
    /// The signature is wrong.
    BadSignature,
    /// The ticket lacks a claim.
    MissingClaim,
    /// A claim has a value that it cannot have.
    InvalidClaim,
    /// The ticket is of another queue.
    WrongQueue,
    /// The ticket has ended.
    Expired,
    /// The ticket does not count yet.
    NotYetValid,
    /// The request names another visitor than the ticket.
    OtherVisitor,
    /// The visitor waited longer than the queue allows (`waiting_seconds_max`).
    OverlongWait,
}

impl Reason {
    /// The word in the problem and in the log.
    pub fn name(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::UnknownKey => "unknown-key",
            Self::WrongAlgorithm => "wrong-algorithm",
            Self::BadSignature => "bad-signature",
            Self::MissingClaim => "missing-claim",
            Self::InvalidClaim => "invalid-claim",
            Self::WrongQueue => "wrong-queue",
            Self::Expired => "expired",
            Self::NotYetValid => "not-yet-valid",
            Self::OtherVisitor => "other-visitor",
            Self::OverlongWait => "overlong-wait",
        }
    }
}

impl Problem {
    /// Creates a problem from its code and a sentence for its reader.
    pub fn new(code: Code, detail: impl Into<Cow<'static, str>>) -> Self {
        Self {
            r#type: code.urn(),
            title: code.title().into(),
            status: code.status(),
            code,
            detail: detail.into(),
            field: None,
            reason: None,
            state: None,
            visit: None,
            ended_at_ms: None,
            grace_until_ms: None,
            grace_in_ms: None,
            finish_reason: None,
            message: Message::default(),
            min_epoch: None,
            for_operators: Map::new(),
            request_id: None,
        }
    }

    /// The problem with the usual sentence of its code.
    pub fn usual(code: Code) -> Self {
        Self::new(code, code.detail())
    }

    /// The problem of a part of the request, which `field` names.
    #[must_use]
    pub fn of_field(mut self, field: impl Into<String>) -> Self {
        self.field = Some(field.into());
        self
    }

    /// The problem as a JSON object.
    #[allow(clippy::missing_panics_doc)] // A struct of plain fields always serializes.
    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).expect("plain fields")
    }

    /// Adds a member that only operators are told.
    #[must_use]
    pub fn with_member(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.for_operators.insert(name.to_owned(), value.into());
        self
    }
}
