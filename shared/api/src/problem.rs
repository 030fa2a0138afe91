//! Turns every failure into an HTTP answer: problem details by RFC 9457, each with a stable `code`. No
//! other module does so.
//!
//! A handler returns a [`Problem`]. The [request context](crate::routes::request_context) writes the body,
//! because only that module knows the request id, and logs the problem once. A client never sees
//! the cause, which goes to the log only.

mod conversions;

use std::{borrow::Cow, sync::Arc};

use axum::{
    http::StatusCode,
    response::{IntoResponse, Response},
};
use vestibule_backup::BackupError;
use vestibule_domain::{
    end_reason::EndReason,
    entry_status::EntryStatus,
    poll_pacing::{
        RETRY_AFTER_BEHIND_MIN_SECONDS, RETRY_AFTER_MIN_SECONDS, RefusedQueue, retry_after_seconds,
    },
    record::EntryRecord,
    settings::Settings,
    state::EntryState,
    tombstone::Tombstone,
};
use vestibule_line::{LineError, Refusal};
pub use vestibule_wire::Code;
use vestibule_wire::{Message, problem::Reason};

/// Returns the HTTP status of an answer with this code.
fn http_status(code: Code) -> StatusCode {
    StatusCode::from_u16(code.status()).expect("a test holds every declared status to the range 400 to 599")
}

/// The code of a problem that says that a visit has ended in this state.
pub fn code_of_end(state: EntryState) -> Code {
    match state {
        EntryState::Completed => Code::Completed,
        EntryState::Left => Code::Left,
        EntryState::Evicted => Code::Evicted,
        EntryState::Dismissed => Code::QueueFinished,
        _ => Code::Expired,
    }
}

/// What a visitor reads whose wait lasted longer than the queue allows.
const WAIT_OVERLONG: &str = "the wait lasted longer than the queue allows; the visitor may enter again";

/// What a visitor reads who missed the turn.
const MISSED_TURN: &str =
    "the visitor may enter again; until grace_until_ms, entering gives the old place back";

/// A request that could not be answered as the client asked.
#[derive(Debug)]
pub struct Problem {
    /// What the client is told. On the heap, because nearly every function may return a problem.
    answer: Box<vestibule_wire::Problem>,
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

impl From<vestibule_wire::Problem> for Problem {
    fn from(answer: vestibule_wire::Problem) -> Self {
        Self {
            answer: Box::new(answer),
            cause: None,
            logged_code: None,
        }
    }
}

impl Problem {
    /// Creates a problem from its code and a sentence for the client. The sentence contains no internal
    /// detail.
    pub fn new(code: Code, detail: impl Into<Cow<'static, str>>) -> Self {
        vestibule_wire::Problem::new(code, detail).into()
    }

    /// Creates a problem with the usual sentence of its code.
    pub(crate) fn usual(code: Code) -> Self {
        vestibule_wire::Problem::usual(code).into()
    }

    /// What the client is told, but for the id of the request.
    pub fn answer(&self) -> &vestibule_wire::Problem {
        &self.answer
    }

    /// What went wrong.
    pub(crate) fn code(&self) -> Code {
        self.answer.code
    }

    /// A part of the request that is invalid. `field` names the part.
    pub fn invalid_field(field: impl Into<String>, detail: impl Into<Cow<'static, str>>) -> Self {
        vestibule_wire::Problem::new(Code::InvalidField, detail)
            .of_field(field)
            .into()
    }

    /// A fault of Vestibule. The client does not learn the cause.
    pub(crate) fn internal(cause: impl Into<String>) -> Self {
        Self {
            cause: Some(cause.into()),
            ..Self::usual(Code::Internal)
        }
    }

    fn unavailable(code: Code, cause: impl Into<String>) -> Self {
        Self {
            cause: Some(cause.into()),
            ..Self::usual(code)
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
        Self::usual(Code::TooManyRequests)
    }

    pub(crate) fn unknown_entry() -> Self {
        Self::usual(Code::UnknownEntry)
    }

    /// The entry is in another state than the request needs.
    pub fn not_your_turn(status: &EntryStatus) -> Self {
        Self::new(
            Code::NotYourTurn,
            format!(
                "the entry is {} and does not allow this request yet",
                status.state().name()
            ),
        )
    }

    pub(crate) fn other_visit() -> Self {
        Self::usual(Code::OtherVisit)
    }

    /// An entry that ended, as its record shows it. During the grace the visitor may enter again at
    /// the old place.
    pub(crate) fn ended(record: &EntryRecord, grace: Option<Grace>) -> Self {
        let code = code_of_end(record.state);
        let is_overlong = record.end_reason() == Some(EndReason::OverlongWait);
        let detail = match grace {
            _ if is_overlong => WAIT_OVERLONG,
            Some(_) if code == Code::Expired => MISSED_TURN,
            _ => code.detail(),
        };
        vestibule_wire::Problem {
            reason: is_overlong.then_some(Reason::OverlongWait),
            state: Some(record.state),
            visit: Some(record.visit().number()),
            ended_at_ms: record.ended_at_ms,
            grace_until_ms: grace.map(|grace| grace.until_ms),
            grace_in_ms: grace.map(|grace| grace.left_ms),
            ..vestibule_wire::Problem::new(code, detail)
        }
        .into()
    }

    /// The queue with these settings is finished. The visitor waited, or wants to enter.
    pub(crate) fn queue_finished(settings: &Settings) -> Self {
        Self::usual(Code::QueueFinished).with_message(settings)
    }

    /// The queue was deleted.
    pub(crate) fn queue_deleted(tombstone: &Tombstone) -> Self {
        vestibule_wire::Problem {
            min_epoch: Some(tombstone.epoch),
            ..vestibule_wire::Problem::usual(Code::QueueDeleted)
        }
        .into()
    }

    /// Adds the reason and the operator's message to the problem that the queue is finished. Any other problem stays as
    /// it is.
    pub(crate) fn with_message(mut self, settings: &Settings) -> Self {
        self.explain_end(settings);
        self
    }

    /// The same for a problem that is there.
    pub(crate) fn explain_end(&mut self, settings: &Settings) {
        if self.answer.code == Code::QueueFinished {
            self.answer.finish_reason = Some(settings.finish_reason());
            self.answer.message = Message::of(settings);
        }
    }

    /// Whether it says that the queue is finished, and the line may have learned that after `at_ms`, in Unix milliseconds of
    /// line time.
    pub(crate) fn is_of_end_after(&self, at_ms: u64) -> bool {
        let ended_at_ms = self.answer.ended_at_ms;
        self.answer.code == Code::QueueFinished && ended_at_ms.is_none_or(|ended_at_ms| ended_at_ms >= at_ms)
    }

    /// `Retry-After`: the time after which the client tries the request again, in seconds. `None` if trying again is of no
    /// use. `queue` is what is known of the queue, and `jitter` is random in `0.0..1.0`.
    pub fn retry_after_seconds(&self, queue: Option<&RefusedQueue>, jitter: f64) -> Option<u64> {
        let min_seconds = self.retry_after_min_seconds()?;
        Some(retry_after_seconds(min_seconds, queue, jitter))
    }

    fn retry_after_min_seconds(&self) -> Option<u64> {
        match self.answer.code {
            Code::BackupBehind | Code::QueueFull => Some(RETRY_AFTER_BEHIND_MIN_SECONDS),
            Code::TooManyRequests => Some(RETRY_AFTER_MIN_SECONDS),
            code if http_status(code) == StatusCode::SERVICE_UNAVAILABLE => Some(RETRY_AFTER_MIN_SECONDS),
            _ => None,
        }
    }

    /// Returns the body of the answer, as JSON, with the title and the detail of another language if they are given.
    pub(crate) fn body(&self, request_id: &str, texts: Option<(String, String)>) -> String {
        let mut answer = (*self.answer).clone();
        answer.request_id = Some(request_id.to_owned());
        if let Some((title, detail)) = texts {
            (answer.title, answer.detail) = (title.into(), detail.into());
        }
        serde_json::to_string(&answer).expect("a struct of plain fields always serializes to JSON")
    }

    /// Logs the problem. The log contains neither the detail nor the field, because both may quote the
    /// client.
    pub(crate) fn log(&self) {
        let (code, status) = (
            self.logged_code.unwrap_or(self.answer.code).name(),
            self.answer.status,
        );
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
                reason = self.answer.reason.map(Reason::name),
                "refused a request; see the code"
            ),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = http_status(self.answer.code).into_response();
        response.extensions_mut().insert(Arc::new(self));
        response
    }
}

#[cfg(test)]
mod tests;
