//! The one place where what went wrong becomes HTTP: problem details by RFC 9457, each with a stable `code`.
//!
//! A handler fails with a [`Problem`]; the [boundary](super::boundary) writes its body, since only there is the request
//! id known, and logs it, once. Nothing from inside shows: a cause goes to the log alone.

use std::sync::Arc;

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;

use super::{code::Code, views::Absence};
use crate::{
    backup::BackupError,
    domain::{id::IdError, record::Record, score::Visit, standing::Standing, state::State},
    line::{LineError, Refusal},
    pass::PassError,
};

/// Whole seconds after which something that is away is worth another try.
const RETRY_AFTER_SECONDS: u64 = 2;
/// The same for what has to catch up first.
const RETRY_BEHIND_AFTER_SECONDS: u64 = 10;

/// A request that cannot be answered as its sender would like.
#[derive(Debug)]
pub struct Problem {
    code: Code,
    /// For the sender to read.
    detail: String,
    field: Option<String>,
    last: Option<Last>,
    /// For the log alone.
    cause: Option<String>,
}

/// How an entry that is gone stood at last.
#[derive(Debug, Clone, Copy, Serialize)]
struct Last {
    state: State,
    #[serde(skip_serializing_if = "Option::is_none")]
    visit: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    grace_until_ms: Option<u64>,
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
    #[serde(flatten)]
    last: Option<Last>,
    request_id: &'a str,
}

impl Problem {
    /// What went wrong, and a sentence for the sender that says nothing from inside.
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        Self {
            code,
            detail: detail.into(),
            field: None,
            last: None,
            cause: None,
        }
    }

    /// Something in the request that is not what it must be.
    pub fn field(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self {
            field: Some(field.into()),
            ..Self::new(Code::InvalidField, detail)
        }
    }

    /// A fault of ours: the sender hears nothing of the cause.
    pub(crate) fn internal(cause: impl Into<String>) -> Self {
        Self {
            cause: Some(cause.into()),
            ..Self::new(Code::Internal, "the request id finds it in the logs")
        }
    }

    fn away(code: Code, cause: impl Into<String>) -> Self {
        Self {
            cause: Some(cause.into()),
            ..Self::new(code, "nothing is lost; try again in a moment")
        }
    }

    pub(crate) fn line_away(cause: impl Into<String>) -> Self {
        Self::away(Code::LineUnavailable, cause)
    }

    pub(crate) fn backup_away(error: &BackupError) -> Self {
        Self::away(Code::BackupUnavailable, error.to_string())
    }

    /// The journal is full: what it does not hold could be lost.
    pub(crate) fn backup_behind() -> Self {
        Self::away(Code::BackupBehind, LineError::JournalFull.to_string())
    }

    pub(crate) fn recovering(cause: &str) -> Self {
        Self::away(Code::Recovering, cause)
    }

    pub(crate) fn unknown_entry() -> Self {
        Self::new(
            Code::UnknownEntry,
            "nobody had this token in this queue, or it was long ago",
        )
    }

    pub(crate) fn not_your_turn(standing: &Standing) -> Self {
        Self::new(
            Code::NotYourTurn,
            format!("the entry is {}", standing.state().name()),
        )
    }

    pub(crate) fn other_visit() -> Self {
        Self::new(
            Code::OtherVisit,
            "the visit that was named is over; the visitor has entered again since",
        )
    }

    /// An entry that is gone, as its record shows it. Until `grace_until_ms` it may be entered again at the old place.
    pub(crate) fn gone(record: &Record, grace_until_ms: Option<u64>) -> Self {
        Self::gone_as(Last {
            state: record.state,
            visit: Some(record.visit.number()),
            ended_at_ms: record.ended_at_ms,
            grace_until_ms,
        })
    }

    /// An entry that timed out a moment ago: the record may not say so yet.
    pub(crate) fn timed_out(visit: Option<Visit>, grace_until_ms: Option<u64>) -> Self {
        Self::gone_as(Last {
            state: State::Expired,
            visit: visit.map(Visit::number),
            ended_at_ms: None,
            grace_until_ms,
        })
    }

    fn gone_as(last: Last) -> Self {
        let code = match last.state {
            State::Completed => Code::Completed,
            State::Left => Code::Left,
            _ => Code::Expired,
        };
        let detail = match last.grace_until_ms {
            Some(_) => "the visitor may enter again: until grace_until_ms at the old place",
            None => "the visitor may enter again",
        };
        Self {
            last: Some(last),
            ..Self::new(code, detail)
        }
    }

    /// The answer to the sender.
    pub(super) fn body(&self, request_id: &str) -> String {
        let (name, status, title) = self.code.terms();
        let body = ProblemBody {
            r#type: format!("urn:problem-type:vestibule:{name}"),
            title,
            status: status.as_u16(),
            code: name,
            detail: &self.detail,
            field: self.field.as_deref(),
            last: self.last,
            request_id,
        };
        serde_json::to_string(&body).expect("a struct of plain fields is JSON")
    }

    /// Says it in the log. Neither the detail nor the field: both may quote the sender.
    pub(super) fn log(&self) {
        let (code, status, cause) = (
            self.code.name(),
            self.code.status().as_u16(),
            self.cause.as_deref(),
        );
        match status {
            500 => tracing::error!(
                event = "request.failed",
                code,
                status,
                cause,
                "answered a request with 500 because of a fault in Vestibule; see the cause"
            ),
            501.. => tracing::warn!(
                event = "request.not_served",
                code,
                status,
                cause,
                "answered a request with 503 because the line or the backup could not serve it; see the \
                 cause"
            ),
            _ => tracing::info!(
                event = "request.refused",
                code,
                status,
                "refused a request; see the code"
            ),
        }
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Draining => Self::new(Code::QueueDraining, "those in line are still served"),
            Refusal::Closed => Self::new(Code::QueueClosed, "places in line are kept"),
            Refusal::JournalFull => Self::backup_behind(),
        }
    }
}

impl From<PassError> for Problem {
    fn from(error: PassError) -> Self {
        match error {
            PassError::Key | PassError::Signing => Self::internal(error.to_string()),
            refused => Self::new(Code::PassRefused, refused.to_string()),
        }
    }
}

impl From<&Absence> for Problem {
    fn from(absence: &Absence) -> Self {
        match absence {
            Absence::NoSuchQueue => Self::new(Code::UnknownQueue, "no queue has this id"),
            Absence::Recovering => Self::recovering("the line does not have the queue"),
            Absence::LineAway(cause) => Self::line_away(cause),
            Absence::BackupAway(cause) => Self::away(Code::BackupUnavailable, cause),
            Absence::Nonsense(cause) => Self::internal(cause),
        }
    }
}

/// An id in the path that is not one.
impl From<IdError> for Problem {
    fn from(error: IdError) -> Self {
        let field = match error {
            IdError::Queue => "queue",
            IdError::Token | IdError::Member => "token",
            IdError::Visitor | IdError::VisitorBlank | IdError::Anonymous => "visitor",
        };
        Self::field(field, error.to_string())
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = self.code.status();
        let mut response = status.into_response();
        if status == StatusCode::SERVICE_UNAVAILABLE {
            let seconds = match self.code {
                Code::BackupBehind => RETRY_BEHIND_AFTER_SECONDS,
                _ => RETRY_AFTER_SECONDS,
            };
            response
                .headers_mut()
                .insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response.extensions_mut().insert(Arc::new(self));
        response
    }
}

#[cfg(test)]
mod tests;
