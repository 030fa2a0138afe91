//! The status of an entry as the line reports it.

use super::{
    score::{DeadlineScore, Visit, WaitScore},
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

/// The position of an entry as its sorted set stores it. It contains nothing that moves without a
/// write, such as the position in line or the claim deadline while the queue is paused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoredPosition {
    /// In line, at this place.
    Waiting(WaitScore),
    /// Promoted. The deadline is on the claim clock, which stands still while the queue is paused.
    Ready(DeadlineScore),
    /// Admitted, until this session end.
    Active(DeadlineScore),
}

impl StoredPosition {
    /// The stored position that matches a status. The deadline of a ready entry is in line time
    /// instead of claim time.
    pub fn from_status(status: &EntryStatus) -> Self {
        match *status {
            EntryStatus::Waiting { score, .. } => Self::Waiting(score),
            EntryStatus::Ready {
                visit, claim_by_ms, ..
            } => Self::Ready(DeadlineScore::new(claim_by_ms, visit)),
            EntryStatus::Active {
                visit,
                session_end_ms,
                ..
            } => Self::Active(DeadlineScore::new(session_end_ms, visit)),
        }
    }

    /// The state of the entry.
    pub fn state(self) -> EntryState {
        match self {
            Self::Waiting(_) => EntryState::Waiting,
            Self::Ready(_) => EntryState::Ready,
            Self::Active(_) => EntryState::Active,
        }
    }

    /// The visit of the entry.
    pub fn visit(self) -> Visit {
        match self {
            Self::Waiting(score) => score.visit(),
            Self::Ready(score) | Self::Active(score) => score.visit(),
        }
    }

    /// The score as stored.
    pub fn raw(self) -> u64 {
        match self {
            Self::Waiting(score) => score.raw(),
            Self::Ready(score) | Self::Active(score) => score.raw(),
        }
    }
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
