//! The changes of an entry. The line writes each change to the journal, and the journal is flushed
//! to the backup.

use super::{
    entry_status::EntryStatus,
    score::{Visit, WaitScore},
    state::EntryState,
};
use crate::id::EntryId;

/// The order of all changes of a queue. Of two changes, the one with the higher version is the
/// later one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Version {
    /// The epoch of the queue, which goes up at each restore.
    pub epoch: u32,
    /// `max(v + 1, Unix microseconds of line time)`: it rises with each change of the queue.
    pub v: u64,
}

/// One change of one entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    /// The entry that changed.
    pub id: EntryId,
    /// The position of the change in the order of all changes of the queue.
    pub version: Version,
    /// When the entry changed, in line time (Unix milliseconds).
    pub at_ms: u64,
    /// How the entry changed.
    pub event: Event,
}

/// The end of one visit. The version distinguishes it from the other ends of the same entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VisitEnd {
    /// The entry that ended.
    pub id: EntryId,
    /// The version of the change that ended it.
    pub version: Version,
}

impl Change {
    /// The end that this change reports; `None` for any other change.
    pub fn visit_end(&self) -> Option<VisitEnd> {
        let ends = matches!(self.event, Event::Ended { .. });
        ends.then_some(VisitEnd {
            id: self.id,
            version: self.version,
        })
    }
}

/// What can happen to an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The entry took a place in line. This is a new visit, or a waiting visitor who moved to the back.
    Entered {
        /// The place in line.
        score: WaitScore,
    },
    /// The entry was admitted at once, because a slot was free and no entry was waiting. This is a
    /// new visit.
    FastTracked {
        /// The place that the entry would have had. It contains the visit and the join time.
        score: WaitScore,
        /// When the session ends, in Unix milliseconds.
        session_end_ms: u64,
    },
    /// The entry went from waiting to ready.
    Promoted {
        /// The place that the entry had.
        score: WaitScore,
        /// The entry must be claimed by this time, in Unix milliseconds.
        claim_by_ms: u64,
    },
    /// A repeated report that the entry is ready, from a writer that does not know the place it had.
    StillReady {
        /// The current visit.
        visit: Visit,
        /// The entry must be claimed by this time, in Unix milliseconds.
        claim_by_ms: u64,
    },
    /// The entry went from ready to active, or a repeated report that it is active.
    Claimed {
        /// The current visit.
        visit: Visit,
        /// When the session ends, in Unix milliseconds.
        session_end_ms: u64,
    },
    /// The session of an active entry was extended.
    Extended {
        /// The current visit.
        visit: Visit,
        /// The new end of the session, in Unix milliseconds.
        session_end_ms: u64,
    },
    /// The visit ended.
    Ended {
        /// The visit that ended.
        visit: Visit,
        /// How the visit ended.
        how: EndReason,
    },
}

/// The ways in which a visit ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndReason {
    /// The visit was completed.
    Completed,
    /// The visitor left, or an operator removed the entry.
    Left,
    /// The visitor did not claim in time after the promotion. The state of the entry is expired.
    NoShow,
    /// The session ran out.
    Expired,
}

impl Event {
    /// Whether a visit begins with this event.
    pub fn begins_visit(&self) -> bool {
        matches!(self, Self::Entered { .. } | Self::FastTracked { .. })
    }

    /// Whether a visit in the given state has already passed this event.
    pub fn is_before_state(&self, state: EntryState) -> bool {
        match self {
            Self::Entered { .. } => matches!(state, EntryState::Ready | EntryState::Active),
            Self::Promoted { .. } | Self::StillReady { .. } => {
                state == EntryState::Active || !state.is_live()
            }
            // If a visit ends twice, the first end counts.
            Self::Claimed { .. } | Self::Extended { .. } | Self::Ended { .. } => !state.is_live(),
            Self::FastTracked { .. } => false,
        }
    }

    /// The place in line that the event contains; `None` if it contains none.
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

    /// The state of the entry after this event.
    pub fn state(&self) -> EntryState {
        match self {
            Self::Entered { .. } => EntryState::Waiting,
            Self::Promoted { .. } | Self::StillReady { .. } => EntryState::Ready,
            Self::FastTracked { .. } | Self::Claimed { .. } | Self::Extended { .. } => EntryState::Active,
            Self::Ended { how, .. } => how.state(),
        }
    }

    /// The same event with the current claim deadline of the entry. The deadline moves while the
    /// queue is paused.
    #[must_use]
    pub fn with_deadline_of(self, status: &EntryStatus) -> Self {
        match (self, status) {
            (Self::Promoted { score, .. }, EntryStatus::Ready { claim_by_ms, .. }) => Self::Promoted {
                score,
                claim_by_ms: *claim_by_ms,
            },
            (Self::StillReady { visit, .. }, EntryStatus::Ready { claim_by_ms, .. }) => Self::StillReady {
                visit,
                claim_by_ms: *claim_by_ms,
            },
            (event, _) => event,
        }
    }

    /// The visit to which the event belongs.
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

impl EndReason {
    /// The name of the end in the line.
    pub fn name(self) -> &'static str {
        match self {
            Self::NoShow => "no-show",
            Self::Completed | Self::Left | Self::Expired => self.state().name(),
        }
    }

    /// The state of an entry that ended in this way.
    pub fn state(self) -> EntryState {
        match self {
            Self::Completed => EntryState::Completed,
            Self::Left => EntryState::Left,
            Self::NoShow | Self::Expired => EntryState::Expired,
        }
    }
}
