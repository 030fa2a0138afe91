//! Turns every failure into an HTTP answer: problem details by RFC 9457, each with a stable `code`. No
//! other module does so.
//!
//! A handler returns a [`Problem`]. The [request context](super::request_context) writes the body,
//! because only that module knows the request id, and logs the problem once. A client never sees
//! the cause, which goes to the log only.

mod conversions;
mod finished_queue;
mod queue_over;

use std::sync::Arc;

use axum::{
    http::StatusCode,
    response::{IntoResponse, Response},
};
use serde::Serialize;
use vestibule_backup::BackupError;
use vestibule_domain::{
    end_reason::EndReason,
    entry_status::EntryStatus,
    poll_pacing::{RETRY_AFTER_BEHIND_MIN_SECONDS, RETRY_AFTER_MIN_SECONDS},
    record::EntryRecord,
    state::EntryState,
};
use vestibule_line::{LineError, Refusal};

use self::queue_over::QueueOver;
use super::code::{Code, http_status};

/// What a visitor of a finished queue reads.
const QUEUE_OVER: &str = "the queue is over, and every place in line has ended";

/// What a visitor reads whose wait lasted longer than the queue allows, and the word for it.
const WAIT_OVERLONG: &str = "the wait lasted longer than the queue allows; the visitor may enter again";
const OVERLONG_WAIT: &str = "overlong-wait";

/// A request that could not be answered as the client asked.
#[derive(Debug)]
pub struct Problem {
    code: Code,
    /// For the client to read.
    detail: String,
    field: Option<String>,
    /// A stable word that says more than the code.
    reason: Option<&'static str>,
    last: Option<Box<LastState>>,
    /// What there is to say of a queue that is finished or was deleted.
    over: Option<Box<QueueOver>>,
    /// For the log only.
    cause: Option<String>,
    /// What the log says instead of the code that the client sees.
    logged_code: Option<Code>,
}

/// How long a visitor who missed the turn may enter again at the old place.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Grace {
    /// Until when, in Unix milliseconds.
    pub(crate) until_ms: u64,
    /// How long from now, in milliseconds.
    pub(crate) left_ms: u64,
}

/// The last state of an entry that ended.
#[derive(Debug, Clone, Copy, Serialize)]
struct LastState {
    state: EntryState,
    #[serde(skip_serializing_if = "Option::is_none")]
    visit: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    grace_until_ms: Option<u64>,
    /// The same as a duration, for clients that do not trust their clocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    grace_in_ms: Option<u64>,
}

/// The body of a problem.
#[derive(Serialize)]
struct ProblemBody<'a> {
    r#type: String,
    title: &'a str,
    status: u16,
    code: &'a str,
    detail: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(flatten)]
    last: Option<LastState>,
    #[serde(flatten)]
    over: Option<&'a QueueOver>,
    request_id: &'a str,
}

impl Problem {
    /// Creates a problem from its code and a sentence for the client. The sentence contains no internal
    /// detail.
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        Self {
            code,
            detail: detail.into(),
            field: None,
            reason: None,
            last: None,
            over: None,
            cause: None,
            logged_code: None,
        }
    }

    /// What went wrong.
    pub(super) fn code(&self) -> Code {
        self.code
    }

    /// A part of the request that is invalid. `field` names the part.
    pub fn invalid_field(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self {
            field: Some(field.into()),
            ..Self::new(Code::InvalidField, detail)
        }
    }

    /// A fault of Vestibule. The client does not learn the cause.
    pub(crate) fn internal(cause: impl Into<String>) -> Self {
        Self {
            cause: Some(cause.into()),
            ..Self::new(
                Code::Internal,
                "Vestibule could not answer the request; the logs have the cause under the request id",
            )
        }
    }

    fn unavailable(code: Code, cause: impl Into<String>) -> Self {
        Self {
            cause: Some(cause.into()),
            ..Self::new(code, "no place in line is lost; try again in a moment")
        }
    }

    pub(crate) fn line_unavailable(cause: impl Into<String>) -> Self {
        Self::unavailable(Code::LineUnavailable, cause)
    }

    /// The line has no memory for another entry. For newcomers the queue is full, and operators have to see why.
    pub(crate) fn line_full(cause: impl Into<String>) -> Self {
        Self {
            cause: Some(cause.into()),
            logged_code: Some(Code::LineUnavailable),
            ..Self::from(Refusal::QueueFull)
        }
    }

    pub(crate) fn backup_unavailable(error: &BackupError) -> Self {
        Self::unavailable(Code::BackupUnavailable, error.to_string())
    }

    /// The journal is full. The line refuses the change, because a change that is in neither the journal
    /// nor the backup could be lost.
    pub(crate) fn backup_behind() -> Self {
        Self::unavailable(Code::BackupBehind, LineError::JournalFull.to_string())
    }

    pub(crate) fn recovering(cause: &str) -> Self {
        Self::unavailable(Code::Recovering, cause)
    }

    /// Whether what the request names exists is not looked up now, because too many requests named what does not.
    pub(crate) fn too_many_lookups() -> Self {
        Self::new(
            Code::TooManyRequests,
            "too many requests name queues or tokens that do not exist; try again in a moment",
        )
    }

    /// One visitor sends more requests than a client in line needs.
    pub(crate) fn too_many_requests() -> Self {
        Self::new(
            Code::TooManyRequests,
            "this visitor sends too many requests; wait for retry_after_ms between them",
        )
    }

    pub(crate) fn unknown_entry() -> Self {
        Self::new(
            Code::UnknownEntry,
            "the queue never issued this token, or the record of the entry has expired",
        )
    }

    pub(crate) fn not_your_turn(status: &EntryStatus) -> Self {
        Self::new(
            Code::NotYourTurn,
            format!(
                "the entry is {} and does not allow this request yet",
                status.state().name()
            ),
        )
    }

    pub(crate) fn other_visit() -> Self {
        Self::new(
            Code::OtherVisit,
            "the named visit has ended; the visitor has entered again since",
        )
    }

    /// An entry that ended, as its record shows it. During the grace the visitor may enter again at
    /// the old place.
    pub(crate) fn ended(record: &EntryRecord, grace: Option<Grace>) -> Self {
        let problem = Self::ended_with(LastState {
            state: record.state,
            visit: Some(record.visit().number()),
            ended_at_ms: record.ended_at_ms,
            grace_until_ms: grace.map(|grace| grace.until_ms),
            grace_in_ms: grace.map(|grace| grace.left_ms),
        });
        if record.end_reason() != Some(EndReason::OverlongWait) {
            return problem;
        }
        Self {
            detail: WAIT_OVERLONG.to_owned(),
            reason: Some(OVERLONG_WAIT),
            ..problem
        }
    }

    fn ended_with(last: LastState) -> Self {
        let code = match last.state {
            EntryState::Completed => Code::Completed,
            EntryState::Left => Code::Left,
            EntryState::Evicted => Code::Evicted,
            EntryState::Dismissed => Code::QueueFinished,
            _ => Code::Expired,
        };
        let detail = match last.grace_until_ms {
            _ if code == Code::QueueFinished => QUEUE_OVER,
            Some(_) => "the visitor may enter again; until grace_until_ms, entering gives the old place back",
            None => "the visitor may enter again",
        };
        Self {
            last: Some(Box::new(last)),
            ..Self::new(code, detail)
        }
    }

    /// The shortest time after which the client tries the request again, in seconds. `None` if trying
    /// again is of no use. The [request context](super::request_context) writes the header.
    pub(super) fn retry_after_min_seconds(&self) -> Option<u64> {
        match self.code {
            Code::BackupBehind | Code::QueueFull => Some(RETRY_AFTER_BEHIND_MIN_SECONDS),
            Code::TooManyRequests => Some(RETRY_AFTER_MIN_SECONDS),
            code if http_status(code) == StatusCode::SERVICE_UNAVAILABLE => Some(RETRY_AFTER_MIN_SECONDS),
            _ => None,
        }
    }

    /// Returns the body of the answer, as JSON, with the title and the detail of another language if they are given.
    pub(super) fn body(&self, request_id: &str, texts: Option<&(String, String)>) -> String {
        let body = ProblemBody {
            r#type: self.code.urn(),
            title: texts.map_or(self.code.title(), |(title, _)| title),
            status: self.code.status(),
            code: self.code.name(),
            detail: texts.map_or(&self.detail, |(_, detail)| detail),
            field: self.field.as_deref(),
            reason: self.reason,
            last: self.last.as_deref().copied(),
            over: self.over.as_deref(),
            request_id,
        };
        serde_json::to_string(&body).expect("a struct of plain fields always serializes to JSON")
    }

    /// Logs the problem. The log contains neither the detail nor the field, because both may quote the
    /// client.
    pub(super) fn log(&self) {
        let (code, status) = (self.logged_code.unwrap_or(self.code).name(), self.code.status());
        match (status, self.cause.as_deref()) {
            (500, cause) => tracing::error!(
                event = "request.failed",
                code,
                status,
                cause,
                "answered a request with 500 because of a fault in Vestibule; see the cause"
            ),
            (_, Some(cause)) => tracing::warn!(
                event = "request.not_served",
                code,
                status,
                cause,
                "answered a request with 503 because the line or the backup could not serve it; see the \
                 cause"
            ),
            (_, None) => tracing::info!(
                event = "request.refused",
                code,
                status,
                reason = self.reason,
                "refused a request; see the code"
            ),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = http_status(self.code).into_response();
        response.extensions_mut().insert(Arc::new(self));
        response
    }
}

#[cfg(test)]
mod tests;
