//! Where an entry stands, as the line sees it.

use super::{
    score::{Visit, WaitScore},
    state::State,
};

/// Where an entry stands now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// In line.
    Waiting {
        /// Its place.
        score: WaitScore,
        /// 1 for the head of the line.
        position: u64,
    },
    /// Promoted.
    Ready {
        /// The visit.
        visit: Visit,
        /// Until when it must be claimed, in Unix milliseconds. Moves on while the queue is paused.
        claim_by_ms: u64,
        /// Line time.
        now_ms: u64,
    },
    /// Let in.
    Active {
        /// The visit.
        visit: Visit,
        /// When the session ends, in Unix milliseconds.
        session_end_ms: u64,
        /// Line time.
        now_ms: u64,
    },
}

impl Standing {
    /// The state it is in.
    pub fn state(&self) -> State {
        match self {
            Self::Waiting { .. } => State::Waiting,
            Self::Ready { .. } => State::Ready,
            Self::Active { .. } => State::Active,
        }
    }

    /// The visit it is.
    pub fn visit(&self) -> Visit {
        match self {
            Self::Waiting { score, .. } => score.visit(),
            Self::Ready { visit, .. } | Self::Active { visit, .. } => *visit,
        }
    }
}
