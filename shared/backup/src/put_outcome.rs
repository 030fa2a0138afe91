//! What a conditional write did.

use vestibule_domain::{change::Change, record::EntryRecord};

/// The outcome of a conditional write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PutOutcome {
    /// The backup stored the change. This is the record after the write.
    Stored(EntryRecord),
    /// The backup wrote nothing: the record already shows this change or a later one.
    Superseded,
    /// The backup wrote nothing: the change conflicts with the record. The record shows that the
    /// visit has ended, or it shows another live visit that did not begin earlier as far as can be
    /// known. The line that made the change had lost that state.
    Conflicting,
}

impl PutOutcome {
    /// The outcome for a change that the record supersedes.
    pub fn for_superseded(stored: Option<&EntryRecord>, change: &Change) -> Self {
        match stored {
            Some(record) if record.version < change.version && record.conflicts_with(change) => {
                Self::Conflicting
            }
            _ => Self::Superseded,
        }
    }
}

/// The outcome of writing the place of a visitor who enters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlacePutOutcome {
    /// No other visit was in the way. The outcome is that of the write.
    Put(PutOutcome),
    /// Another visit of the entry is live, and the backup wrote nothing. Or the visitor missed the
    /// turn and returned within the grace: the earlier visit continues at its old place, and the
    /// backup wrote that place instead.
    Conflict(EntryRecord),
}

impl PlacePutOutcome {
    /// The outcome for a record whose old place this change
    /// [restored](EntryRecord::restore_missed_place).
    pub fn for_restored_place(record: EntryRecord, change: &Change) -> Self {
        if record.visit == change.event.visit() {
            Self::Put(PutOutcome::Stored(record))
        } else {
            Self::Conflict(record)
        }
    }
}
