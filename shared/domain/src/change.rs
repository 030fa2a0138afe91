//! The changes of an entry. A change states a new [fact](crate::fact), and says how it came about.
//! Visitors' changes are written to the backup at once. The promoter's changes go through the
//! journal.

pub use super::end_reason::EndReason;
use super::{
    consumption::EarlierUse,
    fact::{Fact, Turn},
    score::{Visit, WaitScore},
    state::EntryState,
};
use crate::id::{EntryId, Source};

/// The position of a change among all changes of a queue. It orders what one line did. A line that
/// lost its history goes on with later versions, so only the [fact](Change::fact) decides which
/// change of an entry counts.
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
    /// The position of the change among all changes of the queue.
    pub version: Version,
    /// When the entry changed, in line time (Unix milliseconds).
    pub at_ms: u64,
    /// How the entry changed.
    pub event: Event,
    /// Where the visitor entered from. The API adds it to the change that begins a visit; no other
    /// change knows it.
    pub source: Option<Source>,
}

/// The end of one visit. The fact distinguishes it from the other ends of the same entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VisitEnd {
    /// The entry that ended.
    pub id: EntryId,
    /// The fact of the end.
    pub fact: Fact,
}

impl Change {
    /// The fact that the change states.
    pub fn fact(&self) -> Fact {
        self.event.fact()
    }

    /// The end that this change reports; `None` for any other change.
    pub fn visit_end(&self) -> Option<VisitEnd> {
        let ends = matches!(self.event, Event::Ended { .. });
        ends.then(|| VisitEnd {
            id: self.id,
            fact: self.fact(),
        })
    }

    /// The visit that the protected service consumed under an id; `None` if the change is not the end of one.
    pub fn consumed_visit(&self) -> Option<EarlierUse> {
        let Event::Ended { how, .. } = self.event else {
            return None;
        };
        Some(EarlierUse {
            visit: self.event.visit(),
            consumption: how.consumption()?,
        })
    }
}

/// What can happen to an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The entry took a place at the back of the line: a new visit. The place is provisional until
    /// the backup has it.
    Entered {
        /// The place in line.
        place: WaitScore,
        /// The latest visit of this entry that the line knows to be over, not counting a missed
        /// turn whose visitor may come back.
        after: Option<Visit>,
    },
    /// The entry was admitted at once, because a slot was free and no entry was waiting, or a
    /// repeated report of this: a new visit, provisional as in `Entered`.
    FastTracked {
        /// The place that the entry would have had. It contains the visit and the join time.
        place: WaitScore,
        /// When the session ends, in Unix milliseconds.
        session_end_ms: u64,
        /// As in `Entered`.
        after: Option<Visit>,
        /// When the session began, in Unix milliseconds, if the visitor took back the slot that an
        /// earlier visit held; `None` if it began with this visit. The journal does not keep it.
        claimed_at_ms: Option<u64>,
    },
    /// The visitor missed the first turn, entered again within the grace, and waits at the old place.
    CameBack {
        /// The old place in line.
        place: WaitScore,
    },
    /// An operator moved the waiting entry to another lane, or a repeated report of this.
    LaneMoved {
        /// The place in the new lane.
        place: WaitScore,
        /// The turn for which the entry waits.
        turn: Turn,
        /// When the entry was moved, in Unix milliseconds of line time.
        moved_at_ms: u64,
    },
    /// The entry went from waiting to ready.
    Promoted {
        /// The place that the entry had.
        place: WaitScore,
        /// The turn that the entry got.
        turn: Turn,
        /// The entry must be claimed by this time, in Unix milliseconds.
        claim_by_ms: u64,
    },
    /// A repeated report that the entry is ready, from a writer that does not know the place it had.
    StillReady {
        /// The current visit.
        visit: Visit,
        /// The turn that the entry has.
        turn: Turn,
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
        /// The fact of the end. Its step says in which way the visit can have ended: see
        /// [`EndReason::fits`].
        fact: Fact,
        /// How the visit ended.
        how: EndReason,
    },
}

impl Event {
    /// Whether the place that the event gives is provisional: see [`Event::Entered`].
    pub fn is_provisional(&self) -> bool {
        matches!(self, Self::Entered { .. } | Self::FastTracked { .. })
    }

    /// The grace that counts for this event, in seconds, in a queue whose grace is `grace_seconds`.
    /// A visitor whom the fast track admits at once needs no old place.
    pub fn grace_seconds(&self, grace_seconds: u32) -> u32 {
        match self {
            Self::FastTracked { .. } => 0,
            _ => grace_seconds,
        }
    }

    /// The place in line that the event contains; `None` if it contains none.
    pub fn place(&self) -> Option<WaitScore> {
        match self {
            Self::Entered { place, .. }
            | Self::FastTracked { place, .. }
            | Self::CameBack { place }
            | Self::LaneMoved { place, .. }
            | Self::Promoted { place, .. } => Some(*place),
            Self::StillReady { .. } | Self::Claimed { .. } | Self::Extended { .. } | Self::Ended { .. } => {
                None
            }
        }
    }

    /// The fact that the event states.
    pub fn fact(&self) -> Fact {
        match *self {
            Self::Entered { place, .. } => Fact::waiting(place.visit(), Turn::First),
            Self::CameBack { place } => Fact::waiting(place.visit(), Turn::Second),
            Self::LaneMoved {
                place,
                turn,
                moved_at_ms,
            } => Fact::waiting(place.visit(), turn).moved(moved_at_ms),
            Self::FastTracked {
                place,
                session_end_ms,
                ..
            } => Fact::active(place.visit(), session_end_ms),
            Self::Promoted {
                place,
                turn,
                claim_by_ms,
            } => Fact::ready(place.visit(), turn, claim_by_ms),
            Self::StillReady {
                visit,
                turn,
                claim_by_ms,
            } => Fact::ready(visit, turn, claim_by_ms),
            Self::Claimed {
                visit,
                session_end_ms,
            }
            | Self::Extended {
                visit,
                session_end_ms,
            } => Fact::active(visit, session_end_ms),
            Self::Ended { fact, .. } => fact,
        }
    }

    /// The event that repeats a live fact, for a writer that knows nothing but the fact and perhaps
    /// the place, which the line knows of an active entry only if the fast track admitted it. `None`
    /// for a fact that is not live.
    pub fn repeat(fact: Fact, place: Option<WaitScore>) -> Option<Self> {
        let state = fact.live_state()?;
        let visit = fact.visit;
        if let (EntryState::Active, Some(place)) = (state, place) {
            return Some(Self::FastTracked {
                place,
                session_end_ms: fact.step_ms,
                after: None,
                claimed_at_ms: None,
            });
        }
        let place = place.unwrap_or_else(|| visit.place());
        if state == EntryState::Waiting && fact.step_ms > 0 {
            return Some(Self::LaneMoved {
                place,
                turn: fact.turn().unwrap_or(Turn::First),
                moved_at_ms: fact.step_ms,
            });
        }
        Some(match (state, fact.turn()) {
            (EntryState::Waiting, Some(Turn::Second)) => Self::CameBack { place },
            (EntryState::Waiting, _) => Self::Entered { place, after: None },
            (EntryState::Ready, turn) => Self::StillReady {
                visit,
                turn: turn.unwrap_or(Turn::First),
                claim_by_ms: fact.step_ms,
            },
            _ => Self::Claimed {
                visit,
                session_end_ms: fact.step_ms,
            },
        })
    }

    /// The visit to which the event belongs.
    pub fn visit(&self) -> Visit {
        self.fact().visit
    }

    /// The state of the entry after this event.
    pub fn state(&self) -> EntryState {
        match self {
            Self::Entered { .. } | Self::CameBack { .. } | Self::LaneMoved { .. } => EntryState::Waiting,
            Self::Promoted { .. } | Self::StillReady { .. } => EntryState::Ready,
            Self::FastTracked { .. } | Self::Claimed { .. } | Self::Extended { .. } => EntryState::Active,
            Self::Ended { how, .. } => how.state(),
        }
    }
}
