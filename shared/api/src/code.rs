//! The codes of problems, which clients may rely on.

use axum::http::StatusCode;

/// What went wrong. Clients may rely on a code, so its meaning never changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// A part of the request is invalid; `field` names it.
    InvalidField,
    /// The body exceeds the size limit.
    BodyTooLarge,
    /// The content type of the body is not JSON.
    UnsupportedMediaType,
    /// The API has no such route.
    UnknownRoute,
    /// The route does not accept this method.
    MethodNotAllowed,
    /// There is no queue with this id.
    UnknownQueue,
    /// The queue never issued this token, or the record of the entry has expired.
    UnknownEntry,
    /// The token belongs to another visitor.
    TokenOwnerMismatch,
    /// Only the visitor may do this, and the request does not prove who the visitor is.
    VisitorRequired,
    /// Only the protected service may do this.
    ServiceOnly,
    /// The request names a host for which this server does not answer.
    ForeignHost,
    /// The pass is not valid for this entry at this time.
    InvalidPass,
    /// The entry has not been let in yet.
    NotYourTurn,
    /// The queue accepts no new entries and still serves those in line.
    QueueDraining,
    /// The queue is closed: it accepts no entries and promotes none.
    QueueClosed,
    /// The visit ended because the visitor finished.
    Completed,
    /// The visit ended because the visitor left or was removed.
    Left,
    /// The visit ended because it timed out.
    Expired,
    /// The named visit has ended, and another one has begun.
    OtherVisit,
    /// The line does not answer.
    LineUnavailable,
    /// The backup does not answer, and the request cannot be answered without it.
    BackupUnavailable,
    /// The line lost something that the backup still has, and Vestibule is restoring it.
    Recovering,
    /// The journal is full, so the line accepts no further changes until the backup catches up.
    BackupBehind,
    /// A fault of Vestibule.
    Internal,
}

impl Code {
    /// Returns the name in the body, the HTTP status and the title.
    pub(super) fn describe(self) -> (&'static str, StatusCode, &'static str) {
        match self {
            Self::InvalidField => ("invalid-field", StatusCode::BAD_REQUEST, "The request is invalid"),
            Self::BodyTooLarge => (
                "body-too-large",
                StatusCode::PAYLOAD_TOO_LARGE,
                "The request body is too large",
            ),
            Self::UnsupportedMediaType => (
                "unsupported-media-type",
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "The request body must be JSON",
            ),
            Self::UnknownRoute => (
                "unknown-route",
                StatusCode::NOT_FOUND,
                "The API has no such route",
            ),
            Self::MethodNotAllowed => (
                "method-not-allowed",
                StatusCode::METHOD_NOT_ALLOWED,
                "The route does not accept this method",
            ),
            Self::UnknownQueue => ("unknown-queue", StatusCode::NOT_FOUND, "The queue does not exist"),
            Self::UnknownEntry => ("unknown-entry", StatusCode::NOT_FOUND, "The entry does not exist"),
            Self::TokenOwnerMismatch => (
                "token-owner-mismatch",
                StatusCode::FORBIDDEN,
                "The token belongs to another visitor",
            ),
            Self::VisitorRequired => (
                "visitor-required",
                StatusCode::FORBIDDEN,
                "Only the visitor may do this",
            ),
            Self::ServiceOnly => (
                "service-only",
                StatusCode::FORBIDDEN,
                "Only the protected service may do this",
            ),
            Self::ForeignHost => (
                "foreign-host",
                StatusCode::FORBIDDEN,
                "The request names a host that this server does not serve",
            ),
            Self::InvalidPass => ("invalid-pass", StatusCode::FORBIDDEN, "The pass is not valid"),
            Self::NotYourTurn => (
                "not-your-turn",
                StatusCode::CONFLICT,
                "The entry has not been let in yet",
            ),
            Self::QueueDraining => (
                "queue-draining",
                StatusCode::CONFLICT,
                "Queue is not accepting new entries",
            ),
            Self::QueueClosed => ("queue-closed", StatusCode::CONFLICT, "Queue is closed"),
            Self::Completed => ("completed", StatusCode::GONE, "The visit is finished"),
            Self::Left => ("left", StatusCode::GONE, "The visitor left the queue"),
            Self::Expired => ("expired", StatusCode::GONE, "The visit timed out"),
            Self::OtherVisit => ("other-visit", StatusCode::GONE, "The named visit has ended"),
            Self::LineUnavailable => (
                "line-unavailable",
                StatusCode::SERVICE_UNAVAILABLE,
                "The line is unavailable",
            ),
            Self::BackupUnavailable => (
                "backup-unavailable",
                StatusCode::SERVICE_UNAVAILABLE,
                "The backup is unavailable",
            ),
            Self::Recovering => (
                "recovering",
                StatusCode::SERVICE_UNAVAILABLE,
                "The queue is being restored",
            ),
            Self::BackupBehind => (
                "backup-behind",
                StatusCode::SERVICE_UNAVAILABLE,
                "Too many changes wait for the backup",
            ),
            Self::Internal => (
                "internal",
                StatusCode::INTERNAL_SERVER_ERROR,
                "Vestibule could not answer the request",
            ),
        }
    }

    /// Returns the name that the body shows.
    pub fn name(self) -> &'static str {
        self.describe().0
    }

    /// Returns the HTTP status of the answer.
    pub fn status(self) -> StatusCode {
        self.describe().1
    }
}
