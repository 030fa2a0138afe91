//! What a line is asked with, and what it answers.

use crate::domain::{
    change::{Change, Event, Version},
    estimate::RateWindow,
    id::Salt,
    load::LastLoad,
    pace::{Bucket, HeldBackBy, Pace},
    record::Record,
    score::{Visit, WaitScore},
    settings::Settings,
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
    pub(super) fn event(&self) -> Option<Event> {
        let record = &self.record;
        match (record.state, record.score, record.expires_at_ms) {
            (State::Waiting, Some(score), _) => Some(Event::Entered { score }),
            (State::Ready, Some(score), Some(claim_by_ms)) => Some(Event::Promoted { score, claim_by_ms }),
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

/// What a promotion is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PromoteOrder {
    /// The most entries to promote; one call moves [`PROMOTE_CHUNK`](super::PROMOTE_CHUNK) at most.
    pub asked: u64,
    /// Whether the caller is a driver of the line: its heartbeat is noted.
    pub heartbeat: bool,
}

/// What one call of [`Line::promote`](super::Line::promote) did, and how the queue stands after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Promotion {
    /// Waiting to ready.
    pub promoted: u64,
    /// Ready entries dropped because nobody claimed them.
    pub no_shows: u64,
    /// Active entries dropped at the end of their session.
    pub expired: u64,
    /// What kept more from being promoted.
    pub held_back_by: HeldBackBy,
    /// The chunk was full: there is more to do right away.
    pub more: bool,
    /// In line.
    pub waiting: u64,
    /// Promoted and not yet claimed.
    pub ready: u64,
    /// Let in.
    pub active: u64,
    /// The highest score promoted so far.
    pub promoted_through: u64,
    /// Line time, in Unix milliseconds.
    pub now_ms: u64,
}

/// How often a queue is reported on, however many ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReportOrder {
    /// Milliseconds between two reports.
    pub every_ms: u64,
    /// The same for a queue where nobody is and nothing happened.
    pub idle_ms: u64,
}

/// The answer to asking for a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reported {
    /// It was due, and nobody else gets this one.
    Due(Report),
    /// Somebody had one a moment ago, or there is nothing to report.
    Early {
        /// Ask again in so many milliseconds.
        due_in_ms: u64,
    },
}

/// What happened to a queue since the report before, and how it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Report {
    /// Line time, in Unix milliseconds.
    pub now_ms: u64,
    /// In line.
    pub waiting: u64,
    /// Promoted and not yet claimed.
    pub ready: u64,
    /// Let in.
    pub active: u64,
    /// Records in the journal.
    pub journal: u64,
    /// How long ago the first change in the journal happened; 0 where there is none.
    pub backup_lag_ms: u64,
    /// The place of the head of the line.
    pub head: Option<WaitScore>,
    /// The place of the last one in line.
    pub tail: Option<WaitScore>,
    /// The longest time without a heartbeat.
    pub tick_age_ms: u64,
    /// How long those who were promoted waited, all together.
    pub waited_ms: u64,
    /// The longest of these waits.
    pub waited_max_ms: u64,
    /// What happened.
    pub happened: Happened,
    /// The queue's generation.
    pub generation: u32,
    /// Whether anybody may be promoted: where not, nobody is told how long it takes.
    pub promotes: bool,
    /// The pace that the settings ask for.
    pub pace: Pace,
    /// How many were promoted lately.
    pub window: RateWindow,
}

/// Counts since the report before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Happened {
    /// New visits.
    pub entered: u64,
    /// Waiting to ready.
    pub promoted: u64,
    /// Done.
    pub completed: u64,
    /// Walked away, or removed.
    pub left: u64,
    /// Sessions that ran out.
    pub expired: u64,
    /// Promoted, and never claimed in time.
    pub no_shows: u64,
}

/// What a queue is set up with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Configuration {
    /// The settings in force.
    pub settings: Settings,
    /// Names these settings: another revision is another configuration.
    pub revision: String,
    /// How often Vestibule replaced the stored settings: of two readings the one with the higher number is the later.
    pub settings_order: u64,
    /// Goes up at each restore.
    pub epoch: u32,
    /// Goes up at each reset.
    pub generation: u32,
    /// Of this generation.
    pub salt: Salt,
}

/// The answer to configuring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Configured {
    /// The queue is new to the line.
    Created,
    /// Another configuration is in force now.
    Changed,
    /// It was in force already.
    Same,
    /// A later one is in force, and stays so.
    Older,
}

/// How a queue stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    /// What it is set up with.
    pub configuration: Configuration,
    /// Line time, in Unix milliseconds.
    pub now_ms: u64,
    /// In line.
    pub waiting: u64,
    /// Promoted and not yet claimed.
    pub ready: u64,
    /// Let in.
    pub active: u64,
    /// Ends that the backup may not have yet, also of those who came again since.
    pub ended: u64,
    /// Records in the journal.
    pub journal: u64,
    /// The highest score promoted so far: whoever waits below it has been promoted.
    pub promoted_through: u64,
    /// When a driver last ticked, in Unix milliseconds; 0 for never.
    pub heartbeat_ms: u64,
    /// The pace bucket as it stood at its last change.
    pub bucket: Bucket,
    /// How many were promoted lately.
    pub window: RateWindow,
    /// The version of the last change.
    pub version: Version,
    /// Counts since the queue was created.
    pub totals: Totals,
    /// The protected service's last load report, where it still counts.
    pub load: Option<LastLoad>,
}

/// Counts since the queue was created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct Totals {
    /// New visits.
    pub entered: u64,
    /// Of these, let in at once.
    pub fast_tracked: u64,
    /// Waiting to ready.
    pub promoted: u64,
    /// Ready to active.
    pub claimed: u64,
    /// Done.
    pub completed: u64,
    /// Walked away, or removed.
    pub left: u64,
    /// Sessions that ran out.
    pub expired: u64,
    /// Promoted, and never claimed in time.
    pub no_shows: u64,
}

/// One record of the journal: changes that are not in the backup yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalRecord {
    /// Names the record, for [`Line::settle`](super::Line::settle).
    pub key: String,
    /// Of different entries, so they may be written in any order.
    pub changes: Vec<Change>,
}
