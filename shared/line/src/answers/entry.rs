//! About one entry.

use vestibule_domain::{
    change::{Change, Event},
    record::Record,
    score::Visit,
    standing::Standing,
    state::State,
};

/// The answer to entering.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entered {
    /// The visitor has a place.
    Joined {
        /// How they came by it.
        how: Joining,
        /// Where they stand.
        standing: Standing,
        /// What to write; `None` where nothing changed.
        change: Option<Change>,
    },
    /// The visitor has none and gets none.
    Refused(Refusal),
}

/// How an entering visitor came by the place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Joining {
    /// A new visit.
    New,
    /// The place they had. The change says it once more for one that waits or is active, since whoever entered first may
    /// have been killed before writing it; what promoted a ready one is in the journal.
    Kept,
    /// The place they had was given up for one at the back (`re_entry: requeue`).
    Moved,
}

/// Why nobody new gets in line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The queue is draining.
    Draining,
    /// The queue is closed.
    Closed,
    /// The journal is at its limit: the backup is far behind.
    JournalFull,
}

/// What the line knows of an entry that has no place in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// It ended a moment ago, and the backup may not say so yet.
    Ended,
    /// Nothing: it never was, or the backup says what became of it.
    Unknown,
}

/// The answer to looking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// It has a place.
    Here(Standing),
    /// It has none.
    Gone(Missing),
}

/// The answer to a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claimed {
    /// Active, now or before.
    Active {
        /// Where it stands.
        standing: Standing,
        /// What to write; said again for one that was active, since its first claim may not have been written.
        change: Change,
    },
    /// Still in line.
    NotYet(Standing),
    /// Has no place.
    Gone(Missing),
}

/// Who ends a visit, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Departure {
    /// The visitor goes: an active entry is completed, any other is left.
    Leave,
    /// The protected service is done with an active entry.
    Complete,
    /// An operator removes the entry, whatever it is.
    Evict,
}

/// The answer to a departure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Departed {
    /// Gone, and this is what to write.
    Gone(Change),
    /// Another visit was named: nothing changed.
    OtherVisit,
    /// Only an active entry can be completed: nothing changed.
    NotActive(Standing),
    /// Had no place.
    Missing(Missing),
}

/// What the protected service asks of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Check {
    /// The visit it must be; any, where `None`.
    pub visit: Option<Visit>,
    /// Whether a ready entry is claimed by it: only where the visitor was proven.
    pub claims: bool,
    /// Whether an active entry is completed by it: good for one use.
    pub consumes: bool,
    /// For one that shows a pass of an earlier epoch, the end of that: the line has lost that it was let in, where it
    /// stands in line or is called, and it is active again until then. In Unix milliseconds.
    pub let_in_until_ms: Option<u64>,
}

/// The answer to a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Validated {
    /// May act.
    Active {
        /// Where it stands, or stood before it was consumed.
        standing: Standing,
        /// What to write, where it was claimed or consumed.
        change: Option<Change>,
    },
    /// Waiting, or ready and not claimed by this check.
    NotYet(Standing),
    /// Another visit was named.
    OtherVisit,
    /// Has no place.
    Gone(Missing),
}

/// How much longer a session is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extension {
    /// The visit it must be; any, where `None`.
    pub visit: Option<Visit>,
    /// So long from now.
    pub seconds: u32,
    /// But never past this, in Unix milliseconds.
    pub latest_end_ms: u64,
}

/// The answer to an extension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Extended {
    /// The session ends then, never sooner than before.
    Active {
        /// Where it stands.
        standing: Standing,
        /// What to write.
        change: Change,
    },
    /// Waiting or ready.
    NotYet(Standing),
    /// Another visit was named: nothing changed.
    OtherVisit,
    /// Has no place.
    Gone(Missing),
}

/// An entry to put back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revival {
    /// What the backup shows of it.
    pub record: Record,
    /// The generation that the record is of.
    pub generation: u32,
    /// What it comes in place of.
    pub instead: Instead,
}

/// What an entry that is put back comes in place of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Instead {
    /// It stands nowhere, and was not sought yet.
    Nothing,
    /// It stands nowhere, and the record was read after it was sought: by this mark.
    Sought(u64),
    /// A new visit that somebody was given who had a place already.
    Place(Visit),
}

impl Revival {
    /// What puts the entry back, as the backup has it; `None` where it is gone, or not all that is needed is known.
    pub fn event(&self) -> Option<Event> {
        let record = &self.record;
        match (record.state, record.score, record.expires_at_ms) {
            (State::Waiting, Some(score), _) => Some(Event::Entered { score }),
            // It was promoted when the record says, not now.
            (State::Ready, _, Some(claim_by_ms)) => Some(Event::StillReady {
                visit: record.visit,
                claim_by_ms,
            }),
            (State::Active, _, Some(session_end_ms)) => Some(Event::Claimed {
                visit: record.visit,
                session_end_ms,
            }),
            _ => None,
        }
    }
}

/// The answer to putting an entry back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Revived {
    /// It has its place again.
    Back {
        /// Where it stands.
        standing: Standing,
        /// What to write: a version that nothing of the lost history has.
        change: Change,
    },
    /// It has a place, that one or another: nothing changed.
    Here(Standing),
    /// It stands nowhere, by this mark. See [`Instead::Sought`].
    Sought(u64),
    /// Its session ended while the line did not have it.
    Expired(Change),
    /// It ended, and the line knows: nothing changed.
    Ended,
    /// The record is of another generation, or of a later epoch than the line.
    Refused,
}
