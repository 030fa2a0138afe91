//! The way of visitors to the API.

use std::{future::Future, sync::Arc};

use vestibule_wire::{Entry, PublicDocument};

use crate::rules::Refusal;

/// Who sends a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Caller {
    /// The visitor id, or the secret that the server gave for a ticket.
    pub visitor: Option<String>,
    /// The ticket with which the visitor enters.
    pub ticket: Option<String>,
}

impl Caller {
    /// A visitor with an id of its own.
    pub fn anonymous() -> Self {
        Self::with_id(uuid::Uuid::new_v4().to_string())
    }

    /// The visitor with this id.
    pub fn with_id(id: String) -> Self {
        Self {
            visitor: Some(id),
            ticket: None,
        }
    }

    /// A visitor to whom the shop gave a ticket. The server gives it a secret.
    pub fn with_ticket(ticket: String) -> Self {
        Self {
            visitor: None,
            ticket: Some(ticket),
        }
    }
}

/// The requests of visitors to one queue.
///
/// # Errors
/// Each call fails with what the server answered instead, or with [`Refusal::NO_ANSWER`].
pub trait Door: Send + Sync {
    /// Enters the queue, or returns to the place there.
    fn enter(&self, caller: &Caller) -> impl Future<Output = Result<Entry, Refusal>> + Send;

    /// Asks for the state of an entry. The server may hold the answer for so long.
    fn status(
        &self,
        caller: &Caller,
        token: &str,
        hold_seconds: u32,
    ) -> impl Future<Output = Result<Entry, Refusal>> + Send;

    /// Reads the public document. The request names no visitor, so that any cache may answer it.
    fn document(&self) -> impl Future<Output = Result<Arc<PublicDocument>, Refusal>> + Send;

    /// Claims the turn of an entry.
    fn claim(&self, caller: &Caller, token: &str) -> impl Future<Output = Result<Entry, Refusal>> + Send;

    /// Leaves the queue, if the visit is still the one that is named.
    fn leave(
        &self,
        caller: &Caller,
        token: &str,
        visit: u64,
    ) -> impl Future<Output = Result<(), Refusal>> + Send;
}

/// What happens behind the door: the requests of the protected service, and of the visitors whom it serves.
///
/// # Errors
/// As for [`Door`].
pub trait ProtectedService: Send + Sync {
    /// The service asks whether the visitor may act.
    fn validate(
        &self,
        caller: &Caller,
        token: &str,
        visit: u64,
    ) -> impl Future<Output = Result<(), Refusal>> + Send;

    /// The service has finished with the visitor.
    fn complete(&self, token: &str, visit: u64) -> impl Future<Output = Result<(), Refusal>> + Send;

    /// The visitor makes the session longer.
    fn extend(
        &self,
        caller: &Caller,
        token: &str,
        visit: u64,
    ) -> impl Future<Output = Result<Entry, Refusal>> + Send;
}
