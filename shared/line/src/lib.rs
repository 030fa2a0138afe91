//! The line: the live, ordered state of each queue.
//!
//! There are two implementations. [`redis`] serves every deployment. [`memory`] serves one process on a laptop. The
//! same conformance suite tests both.
//!
//! A line makes every decision that depends on order, pace or time. It makes each decision atomically. It reads its
//! server's clock and uses the caller's clock as a [witness](vestibule_domain::clock).
//!
//! Two paths bring the line's decisions to the [backup](crate::backup):
//!
//! - The caller writes the [`Change`] from the answer after a request by a visitor or by the protected service.
//! - The journal is the outbox for the changes that [`Line::promote`] makes.
//!
//! Most methods take the queue as their first argument and fail with [`LineError::Unknown`] if the line does not
//! have that queue. [`Line::take_hold`], [`Line::release_holds`] and [`Line::ping`] take no queue.

mod answers;
mod journal_limits;
mod restored_entries;
mod tick_subscription;

use async_trait::async_trait;
use vestibule_domain::{
    change::{Change, VisitEnd},
    id::{EntryId, QueueId},
    load::LoadReport,
    score::Visit,
};

pub use self::{
    answers::*,
    journal_limits::JournalLimits,
    restored_entries::RestoredEntries,
    tick_subscription::{Subscribers, Tick, TickSubscription},
};

/// The maximum number of entries that one call of [`Line::promote`] moves or drops. A longer call would delay every
/// other caller, because the line runs one call at a time.
pub const PROMOTE_CHUNK: u64 = 1_000;

/// The maximum number of entries in one query of [`Line::status_many`]. A longer list takes several queries.
pub const STATUS_CHUNK: usize = 500;

/// The reason why a call of the line failed.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// The line does not have this queue. Either the queue was never created there, or the line lost it.
    #[error("the line does not have this queue: it was never created, or the line lost it")]
    QueueNotFound,
    /// The line cannot be reached or did not answer in time. The caller cannot know whether the line did what the
    /// call asked.
    #[error("the line (Redis) cannot be reached or did not answer in time: {0}")]
    Unavailable(String),
    /// The line sent a reply that no version of its scripts sends.
    #[error("the line (Redis) sent a reply that this release cannot read: {0}")]
    Protocol(String),
    /// The journal is at its limit and rejected the change. See [`JournalLimits`].
    #[error("the line rejected the change: the journal is full; check why DynamoDB takes no writes")]
    JournalFull,
}

/// The operations of a line. The [module](self) says what all methods have in common.
#[async_trait]
pub trait Line: Send + Sync + 'static {
    /// Gives the visitor a place.
    ///
    /// A visitor who already has a place keeps it, or moves to the back of the line with `re_entry: requeue`. A visitor
    /// without a place gets one only while the journal is below its limit for new entries:
    ///
    /// - The visitor becomes active at once (the fast track) if promotion is allowed, the queue has free capacity, the
    ///   pace bucket has a token and no entry waits.
    /// - Otherwise the visitor joins at the back of the line.
    async fn enter(&self, queue: &QueueId, id: EntryId) -> Result<EnterOutcome, LineError>;

    /// Returns the status of an entry. Changes nothing.
    async fn status(&self, queue: &QueueId, id: EntryId) -> Result<EntryLookup, LineError>;

    /// Returns the status of many entries, in the order of `ids`. Each answer equals that of
    /// [`status`](Self::status). One query covers up to [`STATUS_CHUNK`] entries.
    async fn status_many(&self, queue: &QueueId, ids: &[EntryId]) -> Result<Vec<EntryLookup>, LineError>;

    /// Subscribes to the promotions of a queue. The line need not have the queue.
    ///
    /// The subscription begins at some moment before this call returns, so the caller may miss earlier promotions.
    /// A caller that waits for an entry therefore reads its status once more after subscribing. A message may be
    /// lost, and the subscription may end: see [`TickSubscription`].
    async fn subscribe(&self, queue: &QueueId) -> Result<TickSubscription, LineError>;

    /// Returns the end of an entry if the backup may not have it yet. The caller then writes the end to the backup.
    async fn unsettled_end(&self, queue: &QueueId, id: EntryId) -> Result<Option<Change>, LineError>;

    /// Makes a ready entry active.
    async fn claim(&self, queue: &QueueId, id: EntryId) -> Result<ClaimOutcome, LineError>;

    /// Ends a visit. If `visit` is given, the line ends the entry only if its current visit is that one.
    async fn leave(
        &self,
        queue: &QueueId,
        id: EntryId,
        visit: Option<Visit>,
        reason: LeaveReason,
    ) -> Result<LeaveOutcome, LineError>;

    /// Says whether an entry may act now. Claims or completes the entry if the caller asks for it.
    async fn validate(
        &self,
        queue: &QueueId,
        id: EntryId,
        validation: Validation,
    ) -> Result<ValidateOutcome, LineError>;

    /// Extends the session of an active entry. Never shortens it.
    async fn extend(
        &self,
        queue: &QueueId,
        id: EntryId,
        extension: SessionExtension,
    ) -> Result<ExtendOutcome, LineError>;

    /// Drops entries whose deadline has passed, promotes as many entries as the pace and the capacity allow, and
    /// writes both to the journal.
    ///
    /// Any number of callers may call this at any moment, because the amount depends only on stored time and state.
    /// Two cases promote and drop nothing and only record the heartbeat: the journal is at its limit for new
    /// entries, or the clocks of the server and the caller are apart.
    async fn promote(&self, queue: &QueueId, order: PromoteOrder) -> Result<Promotion, LineError>;

    /// Grants a fallback tick if the promoter is down and no caller had a fallback tick within `order.every_ms`.
    ///
    /// Returns `true` for the first caller, which then does what the promoter would do. Returns `false` for every
    /// caller while the clocks of the server and the caller are apart.
    async fn take_fallback_tick(&self, queue: &QueueId, order: FallbackTickOrder) -> Result<bool, LineError>;

    /// Clears the promoter's heartbeat, so that the next request runs a fallback tick at once.
    ///
    /// Returns `false` and changes nothing if the queue has live entries or the journal has records.
    async fn park_idle_promoter(&self, queue: &QueueId) -> Result<bool, LineError>;

    /// Sets the offset that the line adds to its server's clock, in milliseconds.
    ///
    /// The line accepts the offset only if two of three clocks support it: see
    /// [`outvotes`](vestibule_domain::clock::outvotes). Only a promoter calls this, because a promoter knows whether
    /// its own clock is steady.
    async fn adjust_clock(&self, queue: &QueueId, offset_ms: i64) -> Result<AdjustClockOutcome, LineError>;

    /// Takes the next report: what happened to the queue since the report before.
    ///
    /// If a report is due, the first caller gets it. Any number of callers may ask at any moment, and each event is
    /// in exactly one report.
    async fn take_report(&self, queue: &QueueId, order: ReportOrder) -> Result<ReportOutcome, LineError>;

    /// Puts a configuration in force. Creates the queue empty if the line does not have it and `create` is set.
    ///
    /// The line applies optimistic concurrency:
    ///
    /// - [`ConfigureOutcome::Older`]: the given epoch is earlier than the one in force, or the epochs are equal and the
    ///   given `settings_order` is lower. A newer configuration has overtaken the caller's copy.
    /// - At the same `settings_order` the last call wins, because an edit by hand does not raise the order.
    /// - [`ConfigureOutcome::Behind`]: the given epoch is later. The caller has to restore the queue first.
    async fn configure(
        &self,
        queue: &QueueId,
        configuration: &Configuration,
        create: bool,
    ) -> Result<ConfigureOutcome, LineError>;

    /// Restores a queue that the line does not have, or that it has with an earlier epoch.
    ///
    /// Waiting entries return to their places. Ready entries get new claim deadlines. Active entries stay active
    /// until their session ends. The pace bucket starts empty, and the watermark of [`raise_watermark`](Self::raise_watermark) starts at
    /// `fence`.
    ///
    /// Changes nothing if the queue has this epoch ([`ConfigureOutcome::Same`]), or if it has a later epoch or was
    /// dropped for a later one ([`ConfigureOutcome::Older`]).
    async fn restore(
        &self,
        queue: &QueueId,
        configuration: &Configuration,
        fence: u64,
        places: RestoredEntries,
    ) -> Result<ConfigureOutcome, LineError>;

    /// Drops a queue before its restore with this epoch. From then on the line does not have the queue. The line
    /// keeps the changes that the backup may not have yet: see [`unflushed`](Self::unflushed).
    ///
    /// Returns `false` and changes nothing if the queue has this epoch or a later one, or was dropped for a later
    /// one.
    async fn drop_queue(&self, queue: &QueueId, epoch: u32) -> Result<bool, LineError>;

    /// Returns the unflushed changes of a dropped queue: at most `most` journal records and at most `most` ends.
    /// [`acknowledge`](Self::acknowledge) removes them.
    async fn unflushed(&self, queue: &QueueId, most: usize) -> Result<UnflushedChanges, LineError>;

    /// Raises the watermark of a queue with this epoch. The watermark shows whether a line restarted with stale
    /// data.
    ///
    /// The caller passes in `fence` the watermark that it read from the backup, and writes the new one to the
    /// backup afterwards.
    async fn raise_watermark(
        &self,
        queue: &QueueId,
        epoch: u32,
        fence: u64,
    ) -> Result<RaiseWatermarkOutcome, LineError>;

    /// Restores one entry that the line lost and the backup has. A waiting entry returns to its place, a ready
    /// entry gets a new claim deadline, and an active entry stays active until its session ends.
    ///
    /// The first call for an entry that is not in the line returns [`RestoreEntryOutcome::Sought`] with a revival ticket. The
    /// caller then reads the record again and repeats the call with the ticket. That record shows every end that the
    /// line knew before it issued the ticket, and a later end makes the ticket invalid.
    async fn restore_entry(
        &self,
        queue: &QueueId,
        order: &RestoreEntryOrder,
    ) -> Result<RestoreEntryOutcome, LineError>;

    /// Returns one page of the entries of a queue, beginning at `from`. A page has about [`PAGE_ENTRIES`] entries
    /// at most.
    async fn read_page(&self, queue: &QueueId, from: &Cursor) -> Result<Page, LineError>;

    /// Repairs one entry whose state in the line differs from the backup.
    ///
    /// If the backup shows a later state of the visit, the line adopts that state. If the backup shows that the
    /// visit ended, the line drops the entry. Otherwise the line keeps the entry and returns its state as a change
    /// with a version above that of the backup.
    async fn repair(&self, queue: &QueueId, order: &RepairOrder) -> Result<RepairOutcome, LineError>;

    /// Gives the consistency check of a queue to the first caller that asks when the check is due.
    async fn take_check(&self, queue: &QueueId, order: CheckOrder) -> Result<CheckAssignment, LineError>;

    /// Records that the current consistency check has covered the shards below `shards`. The check ends when it has
    /// covered all shards.
    async fn record_check_progress(&self, queue: &QueueId, covered_shards: u8) -> Result<(), LineError>;

    /// Stores the load report of the protected service and replaces the one before. The report expires after
    /// [`LOAD_TTL_SECONDS`](vestibule_domain::load::LOAD_TTL_SECONDS).
    async fn record_load(&self, queue: &QueueId, report: &LoadReport) -> Result<(), LineError>;

    /// Returns the current state of the queue: its configuration, counts, clocks and averages.
    async fn queue_view(&self, queue: &QueueId) -> Result<QueueView, LineError>;

    /// Returns the oldest journal records that are due, oldest first, at most `most`.
    async fn due_journal_records(
        &self,
        queue: &QueueId,
        most: usize,
    ) -> Result<Vec<JournalRecord>, LineError>;

    /// Returns the oldest journal records, due or not, oldest first, at most `most`. The backup does not have their
    /// changes yet.
    async fn journal_records(&self, queue: &QueueId, most: usize) -> Result<Vec<JournalRecord>, LineError>;

    /// Appends a change to the journal after the backup failed to take it.
    ///
    /// # Errors
    /// [`LineError::JournalFull`] if the journal is at its overall limit.
    async fn append_to_journal(&self, queue: &QueueId, change: &Change) -> Result<(), LineError>;

    /// Replaces a journal record with those of its changes that the backup did not take. The rejected changes are
    /// due again after a backoff. Does nothing if another caller has already handled the record.
    async fn requeue_with_backoff(&self, queue: &QueueId, order: &RequeueOrder) -> Result<(), LineError>;

    /// Moves a journal record to the dead letters. The caller does this with a record that the backup keeps
    /// rejecting or that cannot be read.
    async fn dead_letter(&self, queue: &QueueId, key: &str) -> Result<DeadLetterOutcome, LineError>;

    /// Returns the oldest dead letters, oldest first, at most `most`. Pass their keys to [`acknowledge`](Self::acknowledge)
    /// to remove them.
    async fn dead_lettered(&self, queue: &QueueId, most: usize) -> Result<Vec<JournalRecord>, LineError>;

    /// Acknowledges what the backup has: drops these records from the journal and the dead letters, and removes
    /// these ends.
    ///
    /// The line keeps the end of an entry that entered and ended again since then, because that end has a later
    /// version.
    async fn acknowledge(
        &self,
        queue: &QueueId,
        keys: &[String],
        ended: &[VisitEnd],
    ) -> Result<(), LineError>;

    /// Counts one more held poll if the whole deployment holds fewer polls than `order.below`.
    async fn take_hold(&self, order: &HoldOrder<'_>) -> Result<HoldOutcome, LineError>;

    /// Stops counting the held polls of these entries. An entry without a counted poll changes nothing.
    async fn release_holds(&self, deployment: &str, ids: &[EntryId]) -> Result<(), LineError>;

    /// Checks that the line answers.
    ///
    /// # Errors
    /// [`LineError::Unavailable`] if it does not.
    async fn ping(&self) -> Result<(), LineError>;
}
