//! A test double: the line in memory with injected faults, for situations that the real one never produces.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use tokio::time::sleep;
use vestibule_domain::{
    change::{Change, VisitEnd},
    configuration::Configuration,
    id::{EntryId, QueueId},
    load::LoadReport,
    score::Visit,
};
use vestibule_line::{
    AdjustClockOutcome, CheckAssignment, CheckOrder, ClaimOutcome, ConfigureOutcome, Cursor,
    DeadLetterOutcome, EnterOutcome, EntryLine, EntryLookup, ExtendOutcome, FallbackTickOrder, HoldBudget,
    HoldOrder, HoldOutcome, JournalLine, JournalRecord, LeaveOutcome, LeaveReason, LineError, Page,
    PromoteOrder, Promotion, PromotionLine, QueueLine, QueueView, RaiseWatermarkOutcome, RecoveryLine,
    RepairOrder, RepairOutcome, ReportOrder, ReportOutcome, RequeueOrder, RestoreEntryOrder,
    RestoreEntryOutcome, RestoredEntries, SessionExtension, TickSubscription, UnflushedChanges,
    ValidateOutcome, Validation,
};
use vestibule_line_memory::MemoryLine;

/// A fault of the promotion of a queue.
#[derive(Clone, Copy)]
pub(super) enum Fault {
    /// Promotion fails at once.
    Broken,
    /// Promotion takes this long.
    Slow(Duration),
}

pub(super) struct FaultyLine {
    line: Mutex<MemoryLine>,
    faults: Mutex<HashMap<String, Fault>>,
    calls: Mutex<HashMap<String, u64>>,
}

impl FaultyLine {
    pub(super) fn new(line: MemoryLine) -> Self {
        Self {
            line: Mutex::new(line),
            faults: Mutex::default(),
            calls: Mutex::default(),
        }
    }

    pub(super) fn inject(&self, queue: &str, fault: Fault) {
        lock(&self.faults).insert(queue.to_owned(), fault);
    }

    /// How often a promotion of the queue was attempted.
    pub(super) fn calls(&self, queue: &str) -> u64 {
        lock(&self.calls).get(queue).copied().unwrap_or_default()
    }

    pub(super) fn lose_everything(&self) {
        *lock(&self.line) = MemoryLine::new();
    }

    fn inner(&self) -> MemoryLine {
        lock(&self.line).clone()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[async_trait]
impl QueueLine for FaultyLine {
    async fn queue_view(&self, queue: &QueueId) -> Result<QueueView, LineError> {
        self.inner().queue_view(queue).await
    }

    async fn ping(&self) -> Result<(), LineError> {
        self.inner().ping().await
    }
}

#[async_trait]
impl EntryLine for FaultyLine {
    async fn enter(&self, queue: &QueueId, id: EntryId) -> Result<EnterOutcome, LineError> {
        self.inner().enter(queue, id).await
    }

    async fn status(&self, queue: &QueueId, id: EntryId) -> Result<EntryLookup, LineError> {
        self.inner().status(queue, id).await
    }

    async fn status_many(&self, queue: &QueueId, ids: &[EntryId]) -> Result<Vec<EntryLookup>, LineError> {
        self.inner().status_many(queue, ids).await
    }

    async fn subscribe(&self, queue: &QueueId) -> Result<TickSubscription, LineError> {
        self.inner().subscribe(queue).await
    }

    async fn unsettled_end(&self, queue: &QueueId, id: EntryId) -> Result<Option<Change>, LineError> {
        self.inner().unsettled_end(queue, id).await
    }

    async fn claim(&self, queue: &QueueId, id: EntryId) -> Result<ClaimOutcome, LineError> {
        self.inner().claim(queue, id).await
    }

    async fn leave(
        &self,
        queue: &QueueId,
        id: EntryId,
        visit: Option<Visit>,
        departure: LeaveReason,
    ) -> Result<LeaveOutcome, LineError> {
        self.inner().leave(queue, id, visit, departure).await
    }

    async fn validate(
        &self,
        queue: &QueueId,
        id: EntryId,
        check: Validation,
    ) -> Result<ValidateOutcome, LineError> {
        self.inner().validate(queue, id, check).await
    }

    async fn extend(
        &self,
        queue: &QueueId,
        id: EntryId,
        extension: SessionExtension,
    ) -> Result<ExtendOutcome, LineError> {
        self.inner().extend(queue, id, extension).await
    }
}

#[async_trait]
impl PromotionLine for FaultyLine {
    async fn promote(&self, queue: &QueueId, order: PromoteOrder) -> Result<Promotion, LineError> {
        *lock(&self.calls).entry(queue.to_string()).or_default() += 1;
        let fault = lock(&self.faults).get(queue.as_str()).copied();
        match fault {
            Some(Fault::Broken) => return Err(LineError::Unavailable("broken by a test".to_owned())),
            Some(Fault::Slow(time)) => sleep(time).await,
            None => {}
        }
        self.inner().promote(queue, order).await
    }

    async fn take_fallback_tick(&self, queue: &QueueId, order: FallbackTickOrder) -> Result<bool, LineError> {
        self.inner().take_fallback_tick(queue, order).await
    }

    async fn park_idle_promoter(&self, queue: &QueueId) -> Result<bool, LineError> {
        self.inner().park_idle_promoter(queue).await
    }

    async fn adjust_clock(&self, queue: &QueueId, offset_ms: i64) -> Result<AdjustClockOutcome, LineError> {
        self.inner().adjust_clock(queue, offset_ms).await
    }

    async fn take_report(&self, queue: &QueueId, order: ReportOrder) -> Result<ReportOutcome, LineError> {
        self.inner().take_report(queue, order).await
    }

    async fn record_load(&self, queue: &QueueId, report: &LoadReport) -> Result<(), LineError> {
        self.inner().record_load(queue, report).await
    }
}

#[async_trait]
impl JournalLine for FaultyLine {
    async fn due_journal_records(
        &self,
        queue: &QueueId,
        most: usize,
    ) -> Result<Vec<JournalRecord>, LineError> {
        self.inner().due_journal_records(queue, most).await
    }

    async fn journal_records(&self, queue: &QueueId, most: usize) -> Result<Vec<JournalRecord>, LineError> {
        self.inner().journal_records(queue, most).await
    }

    async fn append_to_journal(&self, queue: &QueueId, change: &Change) -> Result<(), LineError> {
        self.inner().append_to_journal(queue, change).await
    }

    async fn requeue_with_backoff(&self, queue: &QueueId, deferral: &RequeueOrder) -> Result<(), LineError> {
        self.inner().requeue_with_backoff(queue, deferral).await
    }

    async fn dead_letter(&self, queue: &QueueId, key: &str) -> Result<DeadLetterOutcome, LineError> {
        self.inner().dead_letter(queue, key).await
    }

    async fn dead_lettered(&self, queue: &QueueId, most: usize) -> Result<Vec<JournalRecord>, LineError> {
        self.inner().dead_lettered(queue, most).await
    }

    async fn acknowledge(
        &self,
        queue: &QueueId,
        keys: &[String],
        ended: &[VisitEnd],
    ) -> Result<(), LineError> {
        self.inner().acknowledge(queue, keys, ended).await
    }
}

#[async_trait]
impl RecoveryLine for FaultyLine {
    async fn configure(
        &self,
        queue: &QueueId,
        configuration: &Configuration,
        create: bool,
    ) -> Result<ConfigureOutcome, LineError> {
        self.inner().configure(queue, configuration, create).await
    }

    async fn restore(
        &self,
        queue: &QueueId,
        configuration: &Configuration,
        fence: u64,
        places: RestoredEntries,
    ) -> Result<ConfigureOutcome, LineError> {
        self.inner().restore(queue, configuration, fence, places).await
    }

    async fn drop_queue(&self, queue: &QueueId, epoch: u32) -> Result<bool, LineError> {
        self.inner().drop_queue(queue, epoch).await
    }

    async fn unflushed(&self, queue: &QueueId, most: usize) -> Result<UnflushedChanges, LineError> {
        self.inner().unflushed(queue, most).await
    }

    async fn raise_watermark(
        &self,
        queue: &QueueId,
        epoch: u32,
        fence: u64,
    ) -> Result<RaiseWatermarkOutcome, LineError> {
        self.inner().raise_watermark(queue, epoch, fence).await
    }

    async fn restore_entry(
        &self,
        queue: &QueueId,
        revival: &RestoreEntryOrder,
    ) -> Result<RestoreEntryOutcome, LineError> {
        self.inner().restore_entry(queue, revival).await
    }

    async fn read_page(&self, queue: &QueueId, from: &Cursor) -> Result<Page, LineError> {
        self.inner().read_page(queue, from).await
    }

    async fn repair(&self, queue: &QueueId, mending: &RepairOrder) -> Result<RepairOutcome, LineError> {
        self.inner().repair(queue, mending).await
    }

    async fn take_check(&self, queue: &QueueId, order: CheckOrder) -> Result<CheckAssignment, LineError> {
        self.inner().take_check(queue, order).await
    }

    async fn record_check_progress(&self, queue: &QueueId, shards: u8) -> Result<(), LineError> {
        self.inner().record_check_progress(queue, shards).await
    }
}

#[async_trait]
impl HoldBudget for FaultyLine {
    async fn take_hold(&self, order: &HoldOrder<'_>) -> Result<HoldOutcome, LineError> {
        self.inner().take_hold(order).await
    }

    async fn release_holds(&self, deployment: &str, ids: &[EntryId]) -> Result<(), LineError> {
        self.inner().release_holds(deployment, ids).await
    }
}
