//! Why a request was not carried out: `web/client/src/problem.ts`.

use serde::Deserialize;
use serde_json::Value;
use vestibule_domain::state::EntryState;
use vestibule_wire::Code;

/// With these codes the server says that the queue is over or gone. The visit has ended, and no visitor can enter.
const OVER_CODES: [Code; 2] = [Code::QueueFinished, Code::QueueDeleted];
/// With these codes the server says that the visit has ended, or that the place no longer exists.
const END_CODES: [Code; 6] = [
    Code::Completed,
    Code::Left,
    Code::Expired,
    Code::Evicted,
    Code::UnknownEntry,
    Code::TokenOwnerMismatch,
];
/// With these codes the server refuses a visitor, and no retry helps.
const FINAL_CODES: [Code; 10] = [
    Code::UnknownQueue,
    Code::QueueClosed,
    Code::QueueDraining,
    Code::VisitorRequired,
    Code::IdentityMissing,
    Code::TicketRequired,
    Code::InvalidTicket,
    Code::Blocked,
    Code::NotThroughDistribution,
    Code::InvalidField,
];

/// A request that the server did not carry out.
#[derive(Debug, Clone, PartialEq)]
pub struct Refusal {
    /// The status of the answer; 0 without an answer.
    pub status: u16,
    /// The code of the problem. `None` without an answer, if the answer is not from the API, or if the code is none of this
    /// version.
    pub code: Option<Code>,
    /// `Retry-After`, in milliseconds; 0 without one.
    pub retry_after_ms: f64,
    /// The state in which the visit ended, in a 410.
    pub state: Option<EntryState>,
}

impl Refusal {
    /// A request without an answer.
    pub const NO_ANSWER: Self = Self {
        status: 0,
        code: None,
        retry_after_ms: 0.0,
        state: None,
    };

    /// The answer of the API, or of a proxy, with this status and body. As the shipped client, it needs nothing but the code
    /// of the problem and the state.
    pub fn from_answer(status: u16, retry_after_ms: f64, body: &[u8]) -> Self {
        let problem: Value = serde_json::from_slice(body).unwrap_or_default();
        Self {
            status,
            code: Code::deserialize(&problem["code"]).ok(),
            retry_after_ms,
            state: EntryState::deserialize(&problem["state"]).ok(),
        }
    }

    /// The code of the problem, or else what the answer was.
    pub fn name(&self) -> String {
        match (self.code, self.status) {
            (Some(code), _) => code.name().to_owned(),
            (None, 0) => "no-answer".to_owned(),
            (None, status) => format!("http-{status}"),
        }
    }

    /// Whether the queue is over or gone.
    pub fn is_end_of_queue(&self) -> bool {
        self.code.is_some_and(|code| OVER_CODES.contains(&code))
    }

    /// Whether the visit has ended, or the place no longer exists.
    pub fn is_end_of_visit(&self) -> bool {
        self.is_end_of_queue() || self.code.is_some_and(|code| END_CODES.contains(&code))
    }

    /// Whether the visitor is refused, and no retry helps.
    pub fn is_final(&self) -> bool {
        self.code.is_some_and(|code| FINAL_CODES.contains(&code))
    }

    /// Whether a request that is repeated may succeed: no answer, an answer of a proxy, or one that says to come back.
    pub fn is_retryable(&self) -> bool {
        self.status == 0 || self.status == 429 || self.status >= 500
    }

    /// The state in which the visit ended.
    pub(super) fn ended_state(&self) -> EntryState {
        self.state.unwrap_or(EntryState::Expired)
    }
}
