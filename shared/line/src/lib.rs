//! The line: who stands where, now. Two lines ship, held to one conformance suite: [`redis`] for every deployment and
//! [`memory`] for one process on a laptop.
//!
//! A line decides everything that depends on order, pace or time, atomically, by its server's clock, with the caller's as
//! a [witness](vestibule_domain::clock). What it decides is
//! written to the [backup](vestibule_backup): by the caller, from the [`Change`] in the answer, for what a visitor or the
//! protected service did; by way of the journal for what [`Line::promote`] did.
//!
//! Every method takes the queue first and fails with [`LineError::Unknown`] where the line has no such queue; but those that
//! are of no queue: [`Line::hold`], [`Line::release`] and [`Line::ping`].

mod answers;
mod changes;
mod limits;
mod places;

use async_trait::async_trait;
use vestibule_domain::{
    change::{Change, Ending},
    id::{EntryId, QueueId},
    load::LoadReport,
    score::Visit,
};

pub use self::{
    answers::*,
    changes::{Changes, Listeners, Tick},
    limits::JournalLimits,
    places::Places,
};

/// The most entries that one call of [`Line::promote`] moves or drops: a longer one would make everybody else wait.
pub const PROMOTE_CHUNK: u64 = 1_000;

/// The most entries that one question of [`Line::looks`] asks for; more take several.
pub const LOOKS_CHUNK: usize = 500;

/// Why a line gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// The line has no such queue: it never had, or it lost it.
    #[error("the line has no such queue")]
    Unknown,
    /// The line cannot be reached, or did not answer in time. Whether it did what was asked is not known.
    #[error("the line cannot be reached: {0}")]
    Unavailable(String),
    /// The line answered what no version of it answers.
    #[error("the line gave an answer that makes no sense: {0}")]
    Nonsense(String),
    /// The journal holds as much as it may: it did not take the change. See [`JournalLimits`].
    #[error("the journal is full: the backup is far behind")]
    JournalFull,
}

/// Who stands where. See the [module](self) for what every method has in common.
#[async_trait]
pub trait Line: Send + Sync + 'static {
    /// Gives the visitor a place: on the fast track where room and tokens are there and nobody waits, else at the back. A new
    /// one only while the journal is below its limit for newcomers.
    async fn enter(&self, queue: &QueueId, id: EntryId) -> Result<Entered, LineError>;

    /// Says where an entry stands; changes nothing.
    async fn status(&self, queue: &QueueId, id: EntryId) -> Result<Look, LineError>;

    /// Says where many entries stand, in the order in which they are named: as [`status`](Self::status) would of each, by one
    /// question for [`LOOKS_CHUNK`] of them.
    async fn looks(&self, queue: &QueueId, ids: &[EntryId]) -> Result<Vec<Look>, LineError>;

    /// Listens to the promotions of a queue from now on, whether the line has it or not: what happened before the answer
    /// came may have been missed, so whoever waits for something looks once more. A message may be lost, and the
    /// subscription may end: see [`Changes`].
    async fn changes(&self, queue: &QueueId) -> Result<Changes, LineError>;

    /// The end of an entry, where the backup may not have it yet: for whoever asks next to write it.
    async fn end(&self, queue: &QueueId, id: EntryId) -> Result<Option<Change>, LineError>;

    /// Makes a ready entry active.
    async fn claim(&self, queue: &QueueId, id: EntryId) -> Result<Claimed, LineError>;

    /// Ends a visit; where `visit` is given, only that one.
    async fn leave(
        &self,
        queue: &QueueId,
        id: EntryId,
        visit: Option<Visit>,
        departure: Departure,
    ) -> Result<Departed, LineError>;

    /// Says whether an entry may act now, and claims or consumes it where asked.
    async fn validate(&self, queue: &QueueId, id: EntryId, check: Check) -> Result<Validated, LineError>;

    /// Makes an active entry's session longer, never shorter.
    async fn extend(&self, queue: &QueueId, id: EntryId, extension: Extension)
    -> Result<Extended, LineError>;

    /// Drops what timed out and promotes as many as may go; writes both into the journal. Any number of callers may
    /// call it at any moment: the amount depends on stored time and state alone. While the journal is at its limit for
    /// newcomers it does nothing but note the heartbeat.
    async fn promote(&self, queue: &QueueId, order: PromoteOrder) -> Result<Promotion, LineError>;

    /// Gives a tick to whoever asks first, where the promoter is away and nobody had one a moment ago: `true`, and the caller
    /// does what the promoter would do. Where the clocks are apart nobody gets one.
    async fn take_tick(&self, queue: &QueueId, order: TickOrder) -> Result<bool, LineError>;

    /// Takes the promoter's heartbeat back, so that the next call drives the line. `false`, and nothing changed, where
    /// anybody is in the queue or the journal holds anything.
    async fn rest(&self, queue: &QueueId) -> Result<bool, LineError>;

    /// Sets what is added to the server's clock, in milliseconds, where two of three clocks speak for it: see
    /// [`outvotes`](vestibule_domain::clock::outvotes). For a promoter, which knows whether its own clock is steady.
    async fn adjust(&self, queue: &QueueId, offset_ms: i64) -> Result<Adjusted, LineError>;

    /// Takes what happened since the last report, for whoever asks first when one is due: any number of callers may ask
    /// at any moment, and each event is in one report.
    async fn report(&self, queue: &QueueId, order: ReportOrder) -> Result<Reported, LineError>;

    /// Puts a configuration in force. A queue that the line does not have is created, empty, where `create` is set. One
    /// whose `settings_order` is lower than that in force, in the same epoch, is [`Configured::Older`]:
    /// whoever read it was overtaken; so is one of an earlier epoch. Of the same order the last one counts, since a change
    /// by hand leaves it alone. One of a later epoch is [`Configured::Behind`]: the queue has to be put back.
    async fn configure(
        &self,
        queue: &QueueId,
        configuration: &Configuration,
        create: bool,
    ) -> Result<Configured, LineError>;

    /// Puts a queue back that the line does not have, or has of an earlier epoch: waiting entries at their places, ready
    /// ones with new deadlines, active ones until their end. The pace bucket starts empty, and the mark of
    /// [`mark`](Self::mark) at the fence. Where the queue is there of this epoch or a later one, or was dropped for a later
    /// one, nothing changes, and the answer is [`Configured::Same`] or [`Configured::Older`].
    async fn restore(
        &self,
        queue: &QueueId,
        configuration: &Configuration,
        fence: u64,
        places: Places,
    ) -> Result<Configured, LineError>;

    /// Drops a queue that is to be put back with this epoch, all but what may not be in the backup yet: from now on the
    /// line has no such queue. `false`, and nothing changed, where it is of this epoch or a later one, or was dropped for
    /// a later one.
    async fn forget(&self, queue: &QueueId, epoch: u32) -> Result<bool, LineError>;

    /// What a queue that was dropped has left: at most so many records and ends. [`settle`](Self::settle) takes them away.
    async fn remains(&self, queue: &QueueId, most: usize) -> Result<Remains, LineError>;

    /// Raises the mark of a queue of this epoch, which tells a line that came back old from one that went on: whoever
    /// calls writes the new mark to the backup's fence, and brings the fence along that it read before.
    async fn mark(&self, queue: &QueueId, epoch: u32, fence: u64) -> Result<Marked, LineError>;

    /// Puts one entry back that the line lost and the backup has: waiting at its place, ready with a new deadline, active
    /// until its end. The first call for an entry that stands nowhere answers [`Revived::Sought`]: whoever got that reads
    /// the record again and comes back with it.
    async fn revive(&self, queue: &QueueId, revival: &Revival) -> Result<Revived, LineError>;

    /// Some of the entries of a queue, from there on: at most [`PAGE_ENTRIES`] or little more.
    async fn page(&self, queue: &QueueId, from: &Cursor) -> Result<Page, LineError>;

    /// Makes one entry agree with the backup: takes over what the backup knows further along, drops what it knows to be
    /// over, and says of any other where it stands, as a change that is later than what the backup has.
    async fn mend(&self, queue: &QueueId, mending: &Mending) -> Result<Mended, LineError>;

    /// Gives the check of a queue to whoever asks first when one is due.
    async fn take_check(&self, queue: &QueueId, order: CheckOrder) -> Result<CheckTurn, LineError>;

    /// Notes that a check has been through the shards below this one; through all of them, it is over.
    async fn note_check(&self, queue: &QueueId, shards: u8) -> Result<(), LineError>;

    /// Keeps what the protected service says of its load, in place of what it said before. It is forgotten after
    /// [`LOAD_TTL_SECONDS`](vestibule_domain::load::LOAD_TTL_SECONDS).
    async fn keep_load(&self, queue: &QueueId, report: &LoadReport) -> Result<(), LineError>;

    /// Says how the queue stands.
    async fn view(&self, queue: &QueueId) -> Result<View, LineError>;

    /// The oldest records of the journal that are due, oldest first, at most so many.
    async fn journal(&self, queue: &QueueId, most: usize) -> Result<Vec<JournalRecord>, LineError>;

    /// The oldest records of the journal, due or not, oldest first, at most so many: what the backup does not have yet.
    async fn whole_journal(&self, queue: &QueueId, most: usize) -> Result<Vec<JournalRecord>, LineError>;

    /// Adds a change that the backup did not take to the journal; [`LineError::JournalFull`] where that holds all it may.
    async fn record(&self, queue: &QueueId, change: &Change) -> Result<(), LineError>;

    /// Puts what the backup did not take of a journal record in its place, unless somebody else has dealt with the record.
    async fn defer(&self, queue: &QueueId, deferral: &Deferral) -> Result<(), LineError>;

    /// Takes a record that the backup keeps refusing, or that makes no sense, out of the journal, and keeps it aside.
    async fn set_aside(&self, queue: &QueueId, key: &str) -> Result<SetAside, LineError>;

    /// The oldest records that were set aside, oldest first, at most so many. Their keys are for [`settle`](Self::settle).
    async fn aside(&self, queue: &QueueId, most: usize) -> Result<Vec<JournalRecord>, LineError>;

    /// Drops records that the backup has, of the journal or set aside, and forgets these ends that it has. An entry that came again and ended
    /// again since then stays remembered.
    async fn settle(&self, queue: &QueueId, keys: &[String], ended: &[Ending]) -> Result<(), LineError>;

    /// Counts a held poll in, where fewer are held in the whole deployment than may be.
    async fn hold(&self, order: &HoldOrder<'_>) -> Result<Holding, LineError>;

    /// Counts the held polls of these entries out. One that is not counted changes nothing.
    async fn release(&self, deployment: &str, ids: &[EntryId]) -> Result<(), LineError>;

    /// Whether the line answers at all.
    async fn ping(&self) -> Result<(), LineError>;
}
