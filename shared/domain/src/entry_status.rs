//! The status of an entry as the line reports it.

use super::{
    fact::Fact,
    record::EntryRecord,
    score::{Visit, WaitScore},
    state::EntryState,
};

/// The current status of a live entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryStatus {
    /// The entry is in line.
    Waiting {
        /// The place of the entry.
        score: WaitScore,
        /// The position; 1 is the head of the line.
        position: u64,
    },
    /// The entry was promoted and is not claimed yet.
    Ready {
        /// The current visit.
        visit: Visit,
        /// The entry must be claimed by this time, in Unix milliseconds. It moves while the queue
        /// is paused.
        claim_by_ms: u64,
        /// Line time of the answer, in Unix milliseconds.
        now_ms: u64,
    },
    /// The visitor was admitted.
    Active {
        /// The current visit.
        visit: Visit,
        /// When the session ends, in Unix milliseconds.
        session_end_ms: u64,
        /// Line time of the answer, in Unix milliseconds.
        now_ms: u64,
    },
}

impl EntryStatus {
    /// The state of the entry.
    pub fn state(&self) -> EntryState {
        match self {
            Self::Waiting { .. } => EntryState::Waiting,
            Self::Ready { .. } => EntryState::Ready,
            Self::Active { .. } => EntryState::Active,
        }
    }

    /// The visit of the entry.
    pub fn visit(&self) -> Visit {
        match self {
            Self::Waiting { score, .. } => score.visit(),
            Self::Ready { visit, .. } | Self::Active { visit, .. } => *visit,
        }
    }
}

/// A live entry as the line stores it, without what moves by itself, such as its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredEntry {
    /// What the line knows of the entry. The deadline of a ready entry is in line time.
    pub fact: Fact,
    /// The place of an entry that waits, or that is only known to be admitted by the fast track;
    /// `None` for any other.
    pub place: Option<WaitScore>,
}

impl StoredEntry {
    /// Whether the record says the same of the entry. The place needs no comparison: it follows
    /// from the visit.
    pub fn agrees_with(&self, record: &EntryRecord) -> bool {
        self.fact.agrees_with(record.fact)
    }
}
