//! A line with injected faults.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use vestibule_domain::{
    call_limit::CallLimit,
    change::{Change, Version, VisitEnd},
    configuration::Configuration,
    id::{EntryId, QueueId},
    lane::{Lane, LaneProgress},
    load::LoadReport,
    score::Visit,
    tally::TallySnapshot,
    tombstone::Tombstone,
};
use vestibule_line::{
    AdjustClockOutcome, AdoptOrder, AdoptOutcome, Arrival, CallBudget, CallOutcome, ChangeMark,
    CheckAssignment, CheckIn, CheckOrder, ClaimOutcome, ClosingLine, ConfigureOutcome, Cursor,
    DeadLetterOutcome, EnterOutcome, EntryLine, EntryLookup, EntryPromotionOutcome, EvictOrder, EvictionLine,
    EvictionPolicy, ExtendOutcome, FallbackTickOrder, HoldBudget, HoldOrder, HoldOutcome, JournalLine,
    JournalRecord, LaneMoveOutcome, LeaveOutcome, LeaveReason, Line, LineError, MarkClosingOutcome,
    OperatorLine, Page, PreflightLine, PromoteEntryOrder, PromoteOrder, Promotion, PromotionLine, QueueLine,
    QueueTrace, QueueView, RaiseWatermarkOutcome, RecoveryLine, ReportOrder, ReportOutcome, RequeueOrder,
    RestoredEntries, ServerAnswers, SessionExtension, SwitchOrder, TallyLine, TickSubscription,
    UnflushedChanges, UnsavedSwitches, ValidateOutcome, Validation, WaitingPresence,
};

use crate::{Fault, Faults};

/// Decorates a line with [`Faults`].
pub struct FaultyLine {
    line: Mutex<Arc<dyn Line>>,
    faults: Faults,
}

impl FaultyLine {
    /// Decorates a line.
    pub fn new(line: Arc<dyn Line>, faults: Faults) -> Arc<Self> {
        Arc::new(Self {
            line: Mutex::new(line),
            faults,
        })
    }

    /// The faults of this line.
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// Puts another line behind the same faults, for example an empty one, as if the server had lost everything.
    pub fn replace_line(&self, line: Arc<dyn Line>) {
        *self.line.lock().unwrap_or_else(PoisonError::into_inner) = line;
    }

    fn line(&self) -> Arc<dyn Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn read_view(
        &self,
        queue: &QueueId,
        reading: impl Future<Output = Result<QueueView, LineError>>,
    ) -> Result<QueueView, LineError> {
        if let Some(view) = self.faults.frozen_view() {
            return Ok(view);
        }
        let call = self
            .faults
            .begin("queue_view", Some(queue))
            .await
            .map_err(line_error)?;
        let view = reading.await;
        call.end().await.map_err(line_error)?;
        view
    }
}

fn line_error(fault: Fault) -> LineError {
    match fault {
        Fault::Unavailable => LineError::Unavailable("a test made the line unavailable".to_owned()),
        Fault::Throttled => LineError::JournalFull,
        Fault::Rejected => LineError::Protocol("a test made the line reject the call".to_owned()),
    }
}

/// Implements operations that take a queue first: each goes through the faults to the real line.
macro_rules! decorate {
    ($capability:ident { $(fn $operation:ident($($arg:ident: $type:ty),*) -> $answer:ty;)* $(; $($extra:item)*)? }) => {
        #[async_trait]
        impl $capability for FaultyLine {
            $(async fn $operation(&self, queue: &QueueId $(, $arg: $type)*) -> Result<$answer, LineError> {
                let call = self.faults.begin(stringify!($operation), Some(queue)).await.map_err(line_error)?;
                let answer = self.line().$operation(queue $(, $arg)*).await;
                call.end().await.map_err(line_error)?;
                answer
            })*
            $($($extra)*)?
        }
    };
}

#[async_trait]
impl QueueLine for FaultyLine {
    async fn queue_view(&self, queue: &QueueId) -> Result<QueueView, LineError> {
        let line = self.line();
        self.read_view(queue, line.queue_view(queue)).await
    }

    async fn recent_queue_view(&self, queue: &QueueId) -> Result<QueueView, LineError> {
        let line = self.line();
        self.read_view(queue, line.recent_queue_view(queue)).await
    }

    async fn change_mark(&self, queue: &QueueId) -> Result<ChangeMark, LineError> {
        let call = self
            .faults
            .begin("change_mark", Some(queue))
            .await
            .map_err(line_error)?;
        let mark = self.line().change_mark(queue).await;
        call.end().await.map_err(line_error)?;
        mark
    }

    async fn lane_progress(&self, queue: &QueueId, lane: u8) -> Result<LaneProgress, LineError> {
        let call = self
            .faults
            .begin("lane_progress", Some(queue))
            .await
            .map_err(line_error)?;
        let progress = self.line().lane_progress(queue, lane).await;
        call.end().await.map_err(line_error)?;
        progress
    }

    async fn find_trace(&self, queue: &QueueId) -> Result<QueueTrace, LineError> {
        let call = self
            .faults
            .begin("find_trace", Some(queue))
            .await
            .map_err(line_error)?;
        let trace = self.line().find_trace(queue).await;
        call.end().await.map_err(line_error)?;
        trace
    }

    async fn eviction_policy(&self) -> Result<EvictionPolicy, LineError> {
        self.faults
            .begin("eviction_policy", None)
            .await
            .map_err(line_error)?;
        self.line().eviction_policy().await
    }

    fn server_departures(&self) -> u64 {
        self.line().server_departures()
    }

    async fn ping(&self) -> Result<(), LineError> {
        self.faults.begin("ping", None).await.map_err(line_error)?;
        self.line().ping().await
    }
}

decorate! { EntryLine {
    fn status(id: EntryId) -> EntryLookup;
    fn check_in(id: EntryId) -> CheckIn;
    fn status_many(ids: &[EntryId]) -> Vec<EntryLookup>;
    fn subscribe() -> TickSubscription;
    fn claim(id: EntryId) -> ClaimOutcome;
    fn leave(id: EntryId, visit: Option<Visit>, reason: LeaveReason) -> LeaveOutcome;
    fn validate(id: EntryId, validation: Validation) -> ValidateOutcome;
    fn extend(id: EntryId, extension: SessionExtension) -> ExtendOutcome;
    ;
    async fn enter_lane(
        &self,
        queue: &QueueId,
        id: EntryId,
        arrival: Arrival,
        lane: Lane,
    ) -> Result<EnterOutcome, LineError> {
        // Tests know every way of entering by this name.
        let call = self
            .faults
            .begin("enter", Some(queue))
            .await
            .map_err(line_error)?;
        let answer = self.line().enter_lane(queue, id, arrival, lane).await;
        call.end().await.map_err(line_error)?;
        answer
    }
} }

decorate! { ClosingLine {
    fn mark_closing(id: EntryId, visit: Option<Visit>) -> MarkClosingOutcome;
    fn remove_closing_mark(id: EntryId) -> ();
} }

decorate! { OperatorLine {
    fn move_to_lane(id: EntryId, lane: Lane) -> LaneMoveOutcome;
    fn promote_entry(order: PromoteEntryOrder) -> EntryPromotionOutcome;
} }

decorate! { EvictionLine {
    fn presence_many(ids: &[EntryId]) -> Vec<Option<WaitingPresence>>;
    fn evict_waiting(order: &EvictOrder) -> u64;
} }

decorate! { TallyLine {
    fn read_tally() -> TallySnapshot;
    fn take_tally(every_ms: u64) -> Option<TallySnapshot>;
    fn acknowledge_tally(stored: Version) -> ();
} }

decorate! { CallBudget {
    fn take_call(id: EntryId, limit: CallLimit) -> CallOutcome;
} }

decorate! { JournalLine {
    fn due_journal_records(records_max: usize) -> Vec<JournalRecord>;
    fn journal_records(records_max: usize) -> Vec<JournalRecord>;
    fn append_to_journal(change: &Change) -> ();
    fn requeue_with_backoff(order: &RequeueOrder) -> ();
    fn dead_letter(key: &str) -> DeadLetterOutcome;
    fn dead_lettered(records_max: usize) -> Vec<JournalRecord>;
    fn acknowledge(keys: &[String], ended: &[VisitEnd]) -> ();
} }

decorate! { RecoveryLine {
    fn configure(configuration: &Configuration, create: bool) -> ConfigureOutcome;
    fn switch(order: &SwitchOrder) -> ConfigureOutcome;
    fn unsaved_switches() -> Option<UnsavedSwitches>;
    fn settle_switches(serial: u64) -> bool;
    fn restore(configuration: &Configuration, fence: u64, entries: RestoredEntries) -> ConfigureOutcome;
    fn delete_queue(tombstone: &Tombstone) -> bool;
    fn drop_queue(epoch: u32) -> bool;
    fn unflushed(records_max: usize) -> UnflushedChanges;
    fn raise_watermark(epoch: u32, fence: u64) -> RaiseWatermarkOutcome;
    fn adopt(order: &AdoptOrder) -> AdoptOutcome;
    fn read_page(from: &Cursor) -> Page;
    fn take_check(order: CheckOrder) -> CheckAssignment;
    fn record_check_progress(covered_shards: u8) -> ();
} }

decorate! { PromotionLine {
    fn promote(order: PromoteOrder) -> Promotion;
    fn park_idle_promoter() -> bool;
    fn adjust_clock(offset_ms: i64) -> AdjustClockOutcome;
    fn take_report(order: ReportOrder) -> ReportOutcome;
    fn record_load(report: &LoadReport) -> ();
    ;
    async fn take_fallback_tick(&self, queue: &QueueId, order: FallbackTickOrder) -> Result<bool, LineError> {
        if self.faults.refuses_fallback_ticks() {
            return Ok(false);
        }
        let call = self.faults.begin("take_fallback_tick", Some(queue)).await.map_err(line_error)?;
        let granted = self.line().take_fallback_tick(queue, order).await;
        call.end().await.map_err(line_error)?;
        granted
    }
} }

#[async_trait]
impl HoldBudget for FaultyLine {
    async fn take_hold(&self, order: &HoldOrder<'_>) -> Result<HoldOutcome, LineError> {
        let call = self.faults.begin("take_hold", None).await.map_err(line_error)?;
        let outcome = self.line().take_hold(order).await;
        call.end().await.map_err(line_error)?;
        outcome
    }

    async fn release_holds(&self, deployment: &str, ids: &[EntryId]) -> Result<(), LineError> {
        let call = self
            .faults
            .begin("release_holds", None)
            .await
            .map_err(line_error)?;
        let outcome = self.line().release_holds(deployment, ids).await;
        call.end().await.map_err(line_error)?;
        outcome
    }
}

#[async_trait]
impl PreflightLine for FaultyLine {
    async fn ask_server(&self) -> Result<Option<ServerAnswers>, LineError> {
        let call = self.faults.begin("ask_server", None).await.map_err(line_error)?;
        let answers = self.line().ask_server().await;
        call.end().await.map_err(line_error)?;
        answers
    }
}
