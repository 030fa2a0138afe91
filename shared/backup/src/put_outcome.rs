//! What a conditional write did.

use vestibule_domain::record::EntryRecord;

/// The outcome of a conditional write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PutOutcome {
    /// The backup stored the change. This is the record after the write.
    Stored(EntryRecord),
    /// The record states the fact of the change or a greater one already. This is the record after the backup added
    /// what it lacked.
    Superseded(EntryRecord),
    /// The backup wrote nothing: the change gives a provisional place, and the visit of this record goes on, or the
    /// visitor missed the turn and came back within the grace.
    VisitContinues(EntryRecord),
}

impl PutOutcome {
    /// The record after the write.
    pub fn record(&self) -> &EntryRecord {
        match self {
            Self::Stored(record) | Self::Superseded(record) | Self::VisitContinues(record) => record,
        }
    }
}
