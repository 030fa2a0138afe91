//! Inputs and results of operations on one entry.

use serde::Deserialize;
use vestibule_domain::{
    change::Change, consumption::UseId, entry_status::EntryStatus, lane::LaneProgress, score::Visit,
};
use vestibule_wire::Code;

/// How a visitor comes to the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// The visitor lines up like everyone.
    Ordinary,
    /// The visitor is one of the shop's own test visitors, whom the line admits past its end.
    ///
    /// A visitor who is not admitted yet becomes active if a slot is free and the clocks agree,
    /// whatever else the queue would ask for: the line may be long, the pace spent, and the queue
    /// paused, draining, closed or full. Only a finished queue refuses the visitor. The admission takes a slot and no token of the pace. A
    /// waiting visitor becomes active in the same visit, with the change [`Event::Claimed`].
    ///
    /// Otherwise the visitor enters as an [`Ordinary`](Self::Ordinary) one. That also holds for one
    /// who is ready or active, or whose slot is held.
    ///
    /// [`Event::Claimed`]: vestibule_domain::change::Event::Claimed
    Bypass,
    /// The backup may have a place of the visitor that the line does not know: a missed turn within
    /// the grace, or an entry that the line lost. A full queue does not refuse such a visitor. The
    /// place at the back is provisional, and the backup gives the old one back.
    Returning,
}

impl Arrival {
    /// Each arrival.
    pub const ALL: [Self; 3] = [Self::Ordinary, Self::Bypass, Self::Returning];

    /// Its name in the scripts.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Ordinary => "ordinary",
            Self::Bypass => "bypass",
            Self::Returning => "returning",
        }
    }
}

/// The answer to [`Line::enter`](crate::Line::enter).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EnterOutcome {
    /// The visitor has a place.
    Joined {
        /// How the visitor got the place.
        kind: JoinKind,
        /// The status of the entry.
        status: EntryStatus,
        /// The change to write. `None` if nothing changed.
        change: Option<Change>,
    },
    /// The visitor has no place and gets none.
    Refused(Refusal),
}

/// How an entering visitor got the place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinKind {
    /// The visitor began a new visit.
    NewVisit,
    /// The visitor keeps the existing visit. For a waiting or active entry the change states the
    /// current state, because the request that created the place may have died before it wrote the
    /// change. For a ready entry there is no change, because its promotion is in the journal.
    Kept,
    /// The visitor took back the own slot, which was held: a new visit, active until the same end.
    TookBack,
    /// The visitor gave up the existing place for one at the back (`re_entry: requeue`).
    Requeued,
}

/// The reason why the queue does not accept new entries. Scripts name it by its word in kebab case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Refusal {
    /// The queue is draining.
    Draining,
    /// The queue is closed.
    Closed,
    /// The queue is finished.
    Finished,
    /// The journal is at its limit for new entries, because the backup is far behind.
    JournalFull,
    /// As many entries wait as `queue_limit` allows.
    QueueFull,
}

impl Refusal {
    /// The code of the problem with which the API answers.
    pub fn code(self) -> Code {
        match self {
            Self::Draining => Code::QueueDraining,
            Self::Closed => Code::QueueClosed,
            Self::Finished => Code::QueueFinished,
            Self::JournalFull => Code::BackupBehind,
            Self::QueueFull => Code::QueueFull,
        }
    }
}

/// What the line knows of an entry that is not waiting, ready or active.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotFound {
    /// The entry ended recently, in this way. The backup may not have the end yet.
    Ended(Change),
    /// The line knows nothing of the entry. Either it never existed, or only the backup knows how
    /// it ended, or the line lost it.
    Unknown {
        /// The line time at which the line did not know the entry, in Unix milliseconds.
        at_ms: u64,
    },
}

/// The answer to [`Line::status`](crate::Line::status).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryLookup {
    /// The entry is in the line, with this status.
    Found(EntryStatus),
    /// The entry is not in the line.
    NotFound(NotFound),
}

/// The answer to [`Line::check_in`](crate::Line::check_in) and [`Line::look_up`](crate::Line::look_up).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckIn {
    /// The status of the entry.
    pub lookup: EntryLookup,
    /// How far the lane of a waiting entry has moved; `None` for any other entry.
    pub lane: Option<LaneProgress>,
}

/// The answer to [`Line::claim`](crate::Line::claim).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimOutcome {
    /// The entry is active. This call or an earlier one claimed it.
    Active {
        /// The status of the entry.
        status: EntryStatus,
        /// The change to write. If the entry was already active, the change repeats its state,
        /// because the first claim may not have been written.
        change: Change,
    },
    /// The entry is still waiting.
    StillWaiting(EntryStatus),
    /// The entry is not in the line.
    NotFound(NotFound),
}

/// The reason why a visit is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaveReason {
    /// The visitor leaves. The slot of an active entry is held while a pass can still be shown.
    Leave,
    /// The protected service has finished with an active entry, or with one whose slot is held. That
    /// frees the slot.
    Complete,
    /// An operator removes the entry, in whatever state it is. The slot of an active one is held as
    /// after leaving.
    Evict,
}

/// The answer to [`Line::leave`](crate::Line::leave).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeaveOutcome {
    /// The visit ended. This is the change to write.
    Ended(Change),
    /// The entry has another visit than the caller named. Nothing changed.
    OtherVisit,
    /// Only an active entry can be completed, and this one is not active. Nothing changed.
    NotActive(EntryStatus),
    /// The entry is not in the line.
    NotFound(NotFound),
}

/// What the protected service asks about an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Validation {
    /// The required visit. `None` accepts any visit.
    pub visit: Option<Visit>,
    /// Whether validating claims a ready entry. Set this only if the visitor has proved their identity.
    pub claims: bool,
    /// Whether validating completes an active entry, so that the entry is good for one use.
    pub consumes: bool,
    /// The id of the use, if the entry is consumed under one. The line keeps it with the end of the
    /// visit, so that the caller can tell a repeat of the request.
    pub use_id: Option<UseId>,
    /// The end of a valid pass of this visit, in Unix milliseconds. `None` if the visitor showed
    /// none, or if the caller has not read the record yet.
    ///
    /// The pass proves that the entry was active before the line lost that fact. If the line shows
    /// the entry as waiting or ready, the entry becomes active again until this time.
    pub reactivate_until_ms: Option<u64>,
}

/// The answer to [`Line::validate`](crate::Line::validate).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ValidateOutcome {
    /// The visitor may act.
    Active {
        /// The status of the entry. If this call completed the entry, the status before that.
        status: EntryStatus,
        /// The change to write, if this call claimed or completed the entry.
        change: Option<Change>,
    },
    /// The entry is waiting, or it is ready and this call did not claim it.
    NotActive(EntryStatus),
    /// The entry has another visit than the caller named.
    OtherVisit,
    /// The entry is not in the line.
    NotFound(NotFound),
}

/// How far to extend a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionExtension {
    /// The required visit. `None` accepts any visit.
    pub visit: Option<Visit>,
    /// The new session end, in seconds from now.
    pub seconds: u32,
    /// The latest permitted session end, in Unix milliseconds.
    pub latest_end_ms: u64,
}

/// The answer to [`Line::extend`](crate::Line::extend).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExtendOutcome {
    /// The entry is active. Its session ends at the new time, never earlier than before.
    Active {
        /// The status of the entry, with the new session end.
        status: EntryStatus,
        /// The change to write.
        change: Change,
    },
    /// The entry is waiting or ready. Nothing changed.
    NotActive(EntryStatus),
    /// The entry has another visit than the caller named. Nothing changed.
    OtherVisit,
    /// The entry is not in the line.
    NotFound(NotFound),
}
