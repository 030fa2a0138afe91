//! What a conditional write did.

use vestibule_domain::{
    change::Change,
    record::{EntryRecord, PutDecision, PutsDecision},
};

/// The outcome of a conditional write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PutOutcome {
    /// The backup stored the change. This is the record after the write.
    Stored(EntryRecord),
    /// The record states the fact of the change or a greater one already. This is the record after
    /// the backup added what it lacked.
    Superseded(EntryRecord),
    /// The backup wrote nothing: the change gives a provisional place, and the visit of this record
    /// goes on, or the visitor missed the turn and came back within the grace.
    VisitContinues(EntryRecord),
}

impl PutOutcome {
    /// The outcomes of several changes of one entry that were decided together and are stored now.
    /// A place that was refused because an earlier visit went on counts as superseded if a later
    /// change ended that visit.
    pub fn from_decisions(changes: &[Change], decided: &PutsDecision) -> Vec<Self> {
        let outcome = |change: &Change, (decision, after): &(PutDecision, Option<EntryRecord>)| {
            let after = || {
                after
                    .clone()
                    .unwrap_or_else(|| unreachable!("each decision leaves a record"))
            };
            match (decision, &decided.record) {
                (PutDecision::Store(record), _) => Self::Stored(record.clone()),
                (PutDecision::FillGaps(record), _) => Self::Superseded(record.clone()),
                (PutDecision::VisitContinues, Some(last)) if last.fact > change.fact() => {
                    Self::Superseded(last.clone())
                }
                (PutDecision::VisitContinues, _) => Self::VisitContinues(after()),
                (PutDecision::Superseded, _) => Self::Superseded(after()),
            }
        };
        changes
            .iter()
            .zip(&decided.decisions)
            .map(|(change, decision)| outcome(change, decision))
            .collect()
    }

    /// The record after the write.
    pub fn record(&self) -> &EntryRecord {
        match self {
            Self::Stored(record) | Self::Superseded(record) | Self::VisitContinues(record) => record,
        }
    }
}
