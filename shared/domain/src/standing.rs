//! Where an entry stands, as the line sees it.

use super::{
    score::{DeadlineScore, Visit, WaitScore},
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

/// Where an entry stands, as the set has it that holds it: without what moves by itself, such as a position or the claim
/// deadline of a paused queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spot {
    /// In line, at this place.
    Waiting(WaitScore),
    /// Promoted; the deadline is on the claim clock.
    Ready(DeadlineScore),
    /// Let in, until this end.
    Active(DeadlineScore),
}

impl Spot {
    /// Where an entry stands that was looked at; the deadline of a ready one is that of the wall.
    pub fn of(standing: &Standing) -> Self {
        match *standing {
            Standing::Waiting { score, .. } => Self::Waiting(score),
            Standing::Ready {
                visit, claim_by_ms, ..
            } => Self::Ready(DeadlineScore::new(claim_by_ms, visit)),
            Standing::Active {
                visit,
                session_end_ms,
                ..
            } => Self::Active(DeadlineScore::new(session_end_ms, visit)),
        }
    }

    /// The state it is in.
    pub fn state(self) -> State {
        match self {
            Self::Waiting(_) => State::Waiting,
            Self::Ready(_) => State::Ready,
            Self::Active(_) => State::Active,
        }
    }

    /// The visit it is.
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
