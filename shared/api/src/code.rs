//! The codes of problems: what a client can rely on.

use axum::http::StatusCode;

/// What went wrong, as a client can rely on it: these never change their meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// Something in the request is not what it must be; `field` names it.
    InvalidField,
    /// The body is longer than any of ours.
    BodyTooLarge,
    /// The body is not JSON.
    UnsupportedMediaType,
    /// There is no such address.
    UnknownRoute,
    /// The address does not take this method.
    MethodNotAllowed,
    /// There is no such queue.
    UnknownQueue,
    /// Nobody ever had this token in this queue.
    UnknownEntry,
    /// The token belongs to another visitor.
    TokenOwnerMismatch,
    /// Only the visitor may do this, and the request does not say who that is.
    VisitorRequired,
    /// Only the protected service may do this.
    ServiceOnly,
    /// The request names a host under which this address does not answer.
    ForeignHost,
    /// The pass proves nothing here and now.
    PassRefused,
    /// Not let in yet.
    NotYourTurn,
    /// Nobody new gets in line.
    QueueDraining,
    /// Nobody gets in line.
    QueueClosed,
    /// Gone: finished.
    Completed,
    /// Gone: walked away, or was removed.
    Left,
    /// Gone: timed out.
    Expired,
    /// That visit is over, and another one has begun.
    OtherVisit,
    /// The line cannot be reached.
    LineUnavailable,
    /// The backup cannot be reached, and the answer is not known without it.
    BackupUnavailable,
    /// The line lost what the backup still has, and it is being put back.
    Recovering,
    /// So much waits to be written to the backup that nothing is added to it.
    BackupBehind,
    /// A fault of ours.
    Internal,
}

impl Code {
    /// Its name in the body, its status, and its title.
    pub(super) fn terms(self) -> (&'static str, StatusCode, &'static str) {
        match self {
            Self::InvalidField => (
                "invalid-field",
                StatusCode::BAD_REQUEST,
                "Something in the request is wrong",
            ),
            Self::BodyTooLarge => (
                "body-too-large",
                StatusCode::PAYLOAD_TOO_LARGE,
                "The body is too large",
            ),
            Self::UnsupportedMediaType => (
                "unsupported-media-type",
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "The body must be JSON",
            ),
            Self::UnknownRoute => ("unknown-route", StatusCode::NOT_FOUND, "There is no such address"),
            Self::MethodNotAllowed => (
                "method-not-allowed",
                StatusCode::METHOD_NOT_ALLOWED,
                "The address does not take this method",
            ),
            Self::UnknownQueue => ("unknown-queue", StatusCode::NOT_FOUND, "There is no such queue"),
            Self::UnknownEntry => ("unknown-entry", StatusCode::NOT_FOUND, "There is no such entry"),
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
                "The request names another host",
            ),
            Self::PassRefused => ("pass-refused", StatusCode::FORBIDDEN, "The pass was refused"),
            Self::NotYourTurn => (
                "not-your-turn",
                StatusCode::CONFLICT,
                "The entry was not let in yet",
            ),
            Self::QueueDraining => ("queue-draining", StatusCode::CONFLICT, "Nobody new gets in line"),
            Self::QueueClosed => ("queue-closed", StatusCode::CONFLICT, "The queue is closed"),
            Self::Completed => ("completed", StatusCode::GONE, "The visit is finished"),
            Self::Left => ("left", StatusCode::GONE, "The visitor left"),
            Self::Expired => ("expired", StatusCode::GONE, "The visit timed out"),
            Self::OtherVisit => ("other-visit", StatusCode::GONE, "That visit is over"),
            Self::LineUnavailable => (
                "line-unavailable",
                StatusCode::SERVICE_UNAVAILABLE,
                "The line cannot be reached",
            ),
            Self::BackupUnavailable => (
                "backup-unavailable",
                StatusCode::SERVICE_UNAVAILABLE,
                "The backup cannot be reached",
            ),
            Self::Recovering => (
                "recovering",
                StatusCode::SERVICE_UNAVAILABLE,
                "The line is being put back",
            ),
            Self::BackupBehind => (
                "backup-behind",
                StatusCode::SERVICE_UNAVAILABLE,
                "The backup is behind",
            ),
            Self::Internal => (
                "internal",
                StatusCode::INTERNAL_SERVER_ERROR,
                "Something went wrong here",
            ),
        }
    }

    /// Its name in the body.
    pub fn name(self) -> &'static str {
        self.terms().0
    }

    /// The status that it is answered with.
    pub fn status(self) -> StatusCode {
        self.terms().1
    }
}
