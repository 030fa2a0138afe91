//! What happened to an entry: the unit that the durable backup takes.

use super::{
    score::{Visit, WaitScore},
    standing::Standing,
    state::State,
};
use crate::id::EntryId;

/// The order of all changes of a queue: of two changes the one with the higher version is the later one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Version {
    /// Goes up at each restore.
    pub epoch: u32,
    /// `max(v + 1, microseconds)`.
    pub v: u64,
}

/// One change of one entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    /// Whose.
    pub id: EntryId,
    /// Its place among all changes of the queue.
    pub version: Version,
    /// When, in line time.
    pub at_ms: u64,
    /// What.
    pub event: Event,
}

/// The end of one entry: which of its ends is told by the version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ending {
    /// Whose.
    pub id: EntryId,
    /// Of the change that ended it.
    pub version: Version,
}

impl Change {
    /// The end that it is; `None` for any other change.
    pub fn ending(&self) -> Option<Ending> {
        let ends = matches!(self.event, Event::Ended { .. });
        ends.then_some(Ending {
            id: self.id,
            version: self.version,
        })
    }
}

/// What can happen to an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// Took a place in line: a new visit, or the same one moved to the back.
    Entered {
        /// The place.
        score: WaitScore,
    },
    /// Let in at once: room was free and nobody waited. A new visit.
    FastTracked {
        /// The place it would have had: holds the visit and the join time.
        score: WaitScore,
        /// When the session ends.
        session_end_ms: u64,
    },
    /// Waiting to ready.
    Promoted {
        /// The place it had.
        score: WaitScore,
        /// Until when it must be claimed.
        claim_by_ms: u64,
    },
    /// Said once more of a ready one, by whom the place it had is not known.
    StillReady {
        /// The visit.
        visit: Visit,
        /// Until when it must be claimed.
        claim_by_ms: u64,
    },
    /// Ready to active, or said once more of an active one.
    Claimed {
        /// The visit.
        visit: Visit,
        /// When the session ends.
        session_end_ms: u64,
    },
    /// The session of an active entry was made longer.
    Extended {
        /// The visit.
        visit: Visit,
        /// When the session ends now.
        session_end_ms: u64,
    },
    /// Gone.
    Ended {
        /// The visit.
        visit: Visit,
        /// How.
        how: End,
    },
}

/// How a visit ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Done.
    Completed,
    /// Walked away, or was removed by an operator.
    Left,
    /// Was called, and did not come in time. The state says expired.
    NoShow,
    /// The session ended.
    Expired,
}

impl Event {
    /// Whether a visit begins with it.
    pub fn begins(&self) -> bool {
        matches!(self, Self::Entered { .. } | Self::FastTracked { .. })
    }

    /// Whether a visit that is in this state has left it behind.
    pub fn comes_before(&self, state: State) -> bool {
        match self {
            Self::Entered { .. } => matches!(state, State::Ready | State::Active),
            Self::Promoted { .. } | Self::StillReady { .. } => state == State::Active || !state.is_live(),
            // Also of two ends the first one stands.
            Self::Claimed { .. } | Self::Extended { .. } | Self::Ended { .. } => !state.is_live(),
            Self::FastTracked { .. } => false,
        }
    }

    /// The place that it tells of.
    pub fn place(&self) -> Option<WaitScore> {
        match self {
            Self::Entered { score } | Self::FastTracked { score, .. } | Self::Promoted { score, .. } => {
                Some(*score)
            }
            Self::StillReady { .. } | Self::Claimed { .. } | Self::Extended { .. } | Self::Ended { .. } => {
                None
            }
        }
    }

    /// The state that it leads to.
    pub fn state(&self) -> State {
        match self {
            Self::Entered { .. } => State::Waiting,
            Self::Promoted { .. } | Self::StillReady { .. } => State::Ready,
            Self::FastTracked { .. } | Self::Claimed { .. } | Self::Extended { .. } => State::Active,
            Self::Ended { how, .. } => how.state(),
        }
    }

    /// The same with the deadline that the entry has now.
    #[must_use]
    pub fn until(self, standing: &Standing) -> Self {
        match (self, standing) {
            (Self::Promoted { score, .. }, Standing::Ready { claim_by_ms, .. }) => Self::Promoted {
                score,
                claim_by_ms: *claim_by_ms,
            },
            (Self::StillReady { visit, .. }, Standing::Ready { claim_by_ms, .. }) => Self::StillReady {
                visit,
                claim_by_ms: *claim_by_ms,
            },
            (event, _) => event,
        }
    }

    /// The visit that it belongs to.
    pub fn visit(&self) -> Visit {
        match self {
            Self::Entered { score } | Self::FastTracked { score, .. } | Self::Promoted { score, .. } => {
                score.visit()
            }
            Self::StillReady { visit, .. }
            | Self::Claimed { visit, .. }
            | Self::Extended { visit, .. }
            | Self::Ended { visit, .. } => *visit,
        }
    }
}

impl End {
    /// Its name in the line.
    pub fn name(self) -> &'static str {
        match self {
            Self::NoShow => "no-show",
            Self::Completed | Self::Left | Self::Expired => self.state().name(),
        }
    }

    /// The state that it is.
    pub fn state(self) -> State {
        match self {
            Self::Completed => State::Completed,
            Self::Left => State::Left,
            Self::NoShow | Self::Expired => State::Expired,
        }
    }
}
