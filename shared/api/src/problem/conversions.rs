//! Turns the errors of the other modules and crates into problems.

use vestibule_domain::id::IdError;
use vestibule_line::Refusal;

use super::Code;
use super::Problem;
use crate::{
    queue::QueueLookupError,
    who::{pass::PassError, ticket::TicketError},
};

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::JournalFull => Self::backup_behind(),
            other => Self::usual(other.code()),
        }
    }
}

impl From<PassError> for Problem {
    fn from(error: PassError) -> Self {
        match error {
            PassError::InvalidSigningKey | PassError::Signing => Self::internal(error.to_string()),
            refused => Self::new(Code::InvalidPass, refused.to_string()),
        }
    }
}

impl From<TicketError> for Problem {
    fn from(error: TicketError) -> Self {
        vestibule_wire::Problem {
            reason: Some(error.reason()),
            ..vestibule_wire::Problem::new(Code::InvalidTicket, error.to_string())
        }
        .into()
    }
}

impl From<QueueLookupError> for Problem {
    fn from(error: QueueLookupError) -> Self {
        match error {
            QueueLookupError::QueueNotFound => Self::usual(Code::UnknownQueue),
            QueueLookupError::QueueDeleted(tombstone) => Self::queue_deleted(&tombstone),
            QueueLookupError::TooManyLookups => Self::too_many_lookups(),
            QueueLookupError::Recovering => {
                Self::recovering("the line lost the queue, which the backup still has")
            }
            QueueLookupError::LineUnavailable(cause) => Self::line_unavailable(cause),
            QueueLookupError::BackupUnavailable(cause) => Self::unavailable(Code::BackupUnavailable, cause),
            QueueLookupError::Protocol(cause) => Self::internal(cause),
            QueueLookupError::OtherRootKey => {
                let cause = "an operator must put the former root key back, or reset the queue";
                Self::unavailable(Code::OtherRootKey, cause)
            }
        }
    }
}

/// An id that could not be parsed. The problem names the field that held it.
impl From<IdError> for Problem {
    fn from(error: IdError) -> Self {
        let field = match error {
            IdError::Queue => "queue",
            IdError::Token | IdError::Member => "token",
            IdError::Visitor | IdError::VisitorBlank | IdError::Anonymous => "visitor",
            IdError::Source => "source",
            IdError::QueuePattern => "prefix",
        };
        Self::invalid_field(field, error.to_string())
    }
}
