//! The line behind a switch: every call asks the switch first.

use std::{
    sync::{Arc, atomic::Ordering},
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
    HoldOrder, HoldOutcome, JournalLine, JournalRecord, LeaveOutcome, LeaveReason, Line, LineError, Page,
    PromoteOrder, Promotion, PromotionLine, QueueLine, QueueView, RaiseWatermarkOutcome, RecoveryLine,
    RepairOrder, RepairOutcome, ReportOrder, ReportOutcome, RequeueOrder, RestoreEntryOrder,
    RestoreEntryOutcome, RestoredEntries, SessionExtension, TickSubscription, UnflushedChanges,
    ValidateOutcome, Validation,
};

use super::Switch;

pub(super) struct Switched {
    pub(super) line: Arc<dyn Line>,
    pub(super) switch: Switch,
}

impl Switched {
    fn reach(&self) -> Result<&dyn Line, LineError> {
        if self.switch.is_off.load(Ordering::SeqCst) {
            self.switch.tries.fetch_add(1, Ordering::SeqCst);
            return Err(LineError::Unavailable("turned off by a test".to_owned()));
        }
        Ok(&*self.line)
    }
}

#[async_trait]
impl QueueLine for Switched {
    async fn queue_view(&self, queue: &QueueId) -> Result<QueueView, LineError> {
        let frozen = self.switch.frozen().clone();
        match frozen {
            Some(view) => Ok(view),
            None => self.reach()?.queue_view(queue).await,
        }
    }

    async fn ping(&self) -> Result<(), LineError> {
        self.reach()?.ping().await
    }
}

#[async_trait]
impl EntryLine for Switched {
    async fn enter(&self, queue: &QueueId, id: EntryId) -> Result<EnterOutcome, LineError> {
        self.reach()?.enter(queue, id).await
    }

    async fn status(&self, queue: &QueueId, id: EntryId) -> Result<EntryLookup, LineError> {
        let look = self.reach()?.status(queue, id).await;
        self.switch.looking.pass().await;
        look
    }

    async fn status_many(&self, queue: &QueueId, ids: &[EntryId]) -> Result<Vec<EntryLookup>, LineError> {
        self.switch.looks.fetch_add(1, Ordering::SeqCst);
        if self.switch.is_stumbling.swap(false, Ordering::SeqCst) {
            return Err(LineError::Unavailable("slow once, for a test".to_owned()));
        }
        self.reach()?.status_many(queue, ids).await
    }

    async fn subscribe(&self, queue: &QueueId) -> Result<TickSubscription, LineError> {
        self.switch.listening.pass().await;
        if self.switch.is_deaf.load(Ordering::SeqCst) {
            return Err(LineError::Unavailable("made deaf by a test".to_owned()));
        }
        self.reach()?.subscribe(queue).await
    }

    async fn unsettled_end(&self, queue: &QueueId, id: EntryId) -> Result<Option<Change>, LineError> {
        self.reach()?.unsettled_end(queue, id).await
    }

    async fn claim(&self, queue: &QueueId, id: EntryId) -> Result<ClaimOutcome, LineError> {
        self.reach()?.claim(queue, id).await
    }

    async fn leave(
        &self,
        queue: &QueueId,
        id: EntryId,
        visit: Option<Visit>,
        departure: LeaveReason,
    ) -> Result<LeaveOutcome, LineError> {
        self.reach()?.leave(queue, id, visit, departure).await
    }

    async fn validate(
        &self,
        queue: &QueueId,
        id: EntryId,
        check: Validation,
    ) -> Result<ValidateOutcome, LineError> {
        self.reach()?.validate(queue, id, check).await
    }

    async fn extend(
        &self,
        queue: &QueueId,
        id: EntryId,
        extension: SessionExtension,
    ) -> Result<ExtendOutcome, LineError> {
        self.reach()?.extend(queue, id, extension).await
    }
}

#[async_trait]
impl PromotionLine for Switched {
    async fn promote(&self, queue: &QueueId, order: PromoteOrder) -> Result<Promotion, LineError> {
        self.reach()?.promote(queue, order).await
    }

    async fn take_fallback_tick(&self, queue: &QueueId, order: FallbackTickOrder) -> Result<bool, LineError> {
        let line = self.reach()?;
        if !self.switch.calls_drive.load(Ordering::SeqCst) {
            return Ok(false);
        }
        self.switch.offers.fetch_add(1, Ordering::SeqCst);
        line.take_fallback_tick(queue, order).await
    }

    async fn park_idle_promoter(&self, queue: &QueueId) -> Result<bool, LineError> {
        self.reach()?.park_idle_promoter(queue).await
    }

    async fn adjust_clock(&self, queue: &QueueId, offset_ms: i64) -> Result<AdjustClockOutcome, LineError> {
        self.reach()?.adjust_clock(queue, offset_ms).await
    }

    async fn take_report(&self, queue: &QueueId, order: ReportOrder) -> Result<ReportOutcome, LineError> {
        self.reach()?.take_report(queue, order).await
    }

    async fn record_load(&self, queue: &QueueId, report: &LoadReport) -> Result<(), LineError> {
        self.reach()?.record_load(queue, report).await
    }
}

#[async_trait]
impl JournalLine for Switched {
    async fn due_journal_records(
        &self,
        queue: &QueueId,
        most: usize,
    ) -> Result<Vec<JournalRecord>, LineError> {
        self.reach()?.due_journal_records(queue, most).await
    }

    async fn journal_records(&self, queue: &QueueId, most: usize) -> Result<Vec<JournalRecord>, LineError> {
        self.reach()?.journal_records(queue, most).await
    }

    async fn append_to_journal(&self, queue: &QueueId, change: &Change) -> Result<(), LineError> {
        self.reach()?.append_to_journal(queue, change).await
    }

    async fn requeue_with_backoff(&self, queue: &QueueId, deferral: &RequeueOrder) -> Result<(), LineError> {
        self.reach()?.requeue_with_backoff(queue, deferral).await
    }

    async fn dead_letter(&self, queue: &QueueId, key: &str) -> Result<DeadLetterOutcome, LineError> {
        self.reach()?.dead_letter(queue, key).await
    }

    async fn dead_lettered(&self, queue: &QueueId, most: usize) -> Result<Vec<JournalRecord>, LineError> {
        self.reach()?.dead_lettered(queue, most).await
    }

    async fn acknowledge(
        &self,
        queue: &QueueId,
        keys: &[String],
        ended: &[VisitEnd],
    ) -> Result<(), LineError> {
        self.reach()?.acknowledge(queue, keys, ended).await
    }
}

#[async_trait]
impl RecoveryLine for Switched {
    async fn configure(
        &self,
        queue: &QueueId,
        configuration: &Configuration,
        create: bool,
    ) -> Result<ConfigureOutcome, LineError> {
        self.reach()?.configure(queue, configuration, create).await
    }

    async fn restore(
        &self,
        queue: &QueueId,
        configuration: &Configuration,
        fence: u64,
        places: RestoredEntries,
    ) -> Result<ConfigureOutcome, LineError> {
        self.reach()?.restore(queue, configuration, fence, places).await
    }

    async fn drop_queue(&self, queue: &QueueId, epoch: u32) -> Result<bool, LineError> {
        self.reach()?.drop_queue(queue, epoch).await
    }

    async fn unflushed(&self, queue: &QueueId, most: usize) -> Result<UnflushedChanges, LineError> {
        self.reach()?.unflushed(queue, most).await
    }

    async fn raise_watermark(
        &self,
        queue: &QueueId,
        epoch: u32,
        fence: u64,
    ) -> Result<RaiseWatermarkOutcome, LineError> {
        self.reach()?.raise_watermark(queue, epoch, fence).await
    }

    async fn restore_entry(
        &self,
        queue: &QueueId,
        revival: &RestoreEntryOrder,
    ) -> Result<RestoreEntryOutcome, LineError> {
        self.reach()?.restore_entry(queue, revival).await
    }

    async fn read_page(&self, queue: &QueueId, from: &Cursor) -> Result<Page, LineError> {
        self.reach()?.read_page(queue, from).await
    }

    async fn repair(&self, queue: &QueueId, mending: &RepairOrder) -> Result<RepairOutcome, LineError> {
        self.reach()?.repair(queue, mending).await
    }

    async fn take_check(&self, queue: &QueueId, order: CheckOrder) -> Result<CheckAssignment, LineError> {
        self.reach()?.take_check(queue, order).await
    }

    async fn record_check_progress(&self, queue: &QueueId, shards: u8) -> Result<(), LineError> {
        self.reach()?.record_check_progress(queue, shards).await
    }
}

#[async_trait]
impl HoldBudget for Switched {
    async fn take_hold(&self, order: &HoldOrder<'_>) -> Result<HoldOutcome, LineError> {
        let taking = Duration::from_millis(self.switch.holds_take_ms.load(Ordering::SeqCst));
        sleep(taking).await;
        if self.switch.counts_no_holds.load(Ordering::SeqCst) {
            return Err(LineError::Unavailable("turned off by a test".to_owned()));
        }
        self.reach()?.take_hold(order).await
    }

    async fn release_holds(&self, deployment: &str, ids: &[EntryId]) -> Result<(), LineError> {
        self.switch.releases.fetch_add(1, Ordering::SeqCst);
        let taking = Duration::from_millis(self.switch.releases_take_ms.load(Ordering::SeqCst));
        sleep(taking).await;
        self.reach()?.release_holds(deployment, ids).await
    }
}
