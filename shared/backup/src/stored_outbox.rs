//! The outbox of a queue's events as the backup stores it.

use vestibule_domain::event_outbox::EventOutbox;

/// The outbox of a queue's events as the backup stores it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredOutbox {
    /// How often it was replaced, from 1.
    pub revision: u64,
    /// Its content.
    pub outbox: EventOutbox,
}
