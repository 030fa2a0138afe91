//! Inputs and results of operations on the journal.

use vestibule_domain::change::Change;

/// A record of the journal, which is the outbox of changes that are not in the backup yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalRecord {
    /// The key of the record, for [`Line::acknowledge`](crate::Line::acknowledge).
    pub key: String,
    /// The changes. Each is of a different entry, so they may be written in any order.
    pub changes: Vec<Change>,
    /// How often the backup rejected the record while it accepted others.
    pub attempts: u32,
    /// When the record is due again, in Unix milliseconds; 0 if it is due at once.
    pub retry_at_ms: u64,
    /// Why the record cannot be read. Such a record has no changes.
    pub parse_error: Option<String>,
}

/// What replaces a journal record that the backup took only in part, or not at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequeueOrder {
    /// The key of the record.
    pub key: String,
    /// Changes that the caller did not try to write. They form one record, which is due at once.
    pub untried: Vec<Change>,
    /// Changes that the backup rejected. Each gets a record of its own.
    pub rejected: Vec<Change>,
    /// How often the backup has rejected them so far.
    pub attempts: u32,
    /// The backoff after which the rejected changes are due again, in milliseconds.
    pub backoff_ms: u64,
}

/// The answer to [`Line::dead_letter`](crate::Line::dead_letter).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeadLetterOutcome {
    /// The line moved the record from the journal to the dead letters.
    Moved,
    /// The record is no longer in the journal, because another caller has handled it.
    AlreadyHandled,
    /// The dead letters are at their limit, so the record stays in the journal. See
    /// [`JournalLimits`](crate::JournalLimits).
    Full,
}
