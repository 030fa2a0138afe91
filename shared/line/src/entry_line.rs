//! What visitors and the protected service do with one entry.

use async_trait::async_trait;
use vestibule_domain::{
    id::{EntryId, QueueId},
    lane::Lane,
    score::Visit,
};

use super::{
    Arrival, CheckIn, ClaimOutcome, EnterOutcome, EntryLookup, ExtendOutcome, LeaveOutcome, LeaveReason,
    LineError, QueueLine, SessionExtension, TickSubscription, ValidateOutcome, Validation,
};

/// Entering, looking up, claiming, leaving and validating one entry.
#[async_trait]
pub trait EntryLine: QueueLine {
    /// Gives the visitor a place.
    ///
    /// A visitor who already has a place keeps it, or moves to the back of the line with `re_entry:
    /// requeue`. A visitor without a place gets one only while the journal is below its limit for
    /// new entries, and in line only while fewer entries wait than `queue_limit` allows. Entries that
    /// were absent at the last tick do not count for it:
    ///
    /// - The visitor becomes active at once (the fast track) if promotion is allowed, the queue has
    ///   free capacity, the pace bucket has a token and no entry waits but absent ones.
    /// - Otherwise the visitor joins at the back of the line.
    ///
    /// [`Arrival::Bypass`] has its own rule: while a slot is free, the visitor becomes active at once.
    ///
    /// A visitor who is called at that place is present for `call_seconds`. The position counts no
    /// absent entry.
    ///
    /// A new place in line is at the back of the lane. A visitor who has a place keeps its lane, also with
    /// `re_entry: requeue`. The position is that in the lane.
    async fn enter_lane(
        &self,
        queue: &QueueId,
        id: EntryId,
        arrival: Arrival,
        lane: Lane,
    ) -> Result<EnterOutcome, LineError>;

    /// Gives the visitor a place in the default lane: see [`enter_lane`](Self::enter_lane).
    async fn enter(&self, queue: &QueueId, id: EntryId, arrival: Arrival) -> Result<EnterOutcome, LineError> {
        self.enter_lane(queue, id, arrival, Lane::DEFAULT).await
    }

    /// Returns the status of an entry for its visitor, who checks in by asking: if the entry waits
    /// and is called, the visitor is present for `presence_seconds`. The position is that in the lane,
    /// and counts no absent entry.
    async fn check_in(&self, queue: &QueueId, id: EntryId) -> Result<CheckIn, LineError>;

    /// Returns the status of an entry. Changes nothing. The position is the rank in the whole line: it
    /// counts absent entries and those of earlier lanes, too.
    async fn status(&self, queue: &QueueId, id: EntryId) -> Result<EntryLookup, LineError>;

    /// Returns the status of many entries, in the order of `ids`. Each answer equals that of
    /// [`status`](Self::status). One query covers up to [`STATUS_CHUNK`](crate::STATUS_CHUNK) entries.
    async fn status_many(&self, queue: &QueueId, ids: &[EntryId]) -> Result<Vec<EntryLookup>, LineError>;

    /// Subscribes to the promotions of a queue. The line need not have the queue.
    ///
    /// The subscription begins at some moment before this call returns, so the caller may miss
    /// earlier promotions. A caller that waits for an entry therefore reads its status once more
    /// after subscribing. A message may be lost, and the subscription may end: see
    /// [`TickSubscription`].
    async fn subscribe(&self, queue: &QueueId) -> Result<TickSubscription, LineError>;

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
}
