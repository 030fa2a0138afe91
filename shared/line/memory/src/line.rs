//! The [`Line`] trait for memory: each method calls the queue that it concerns.

use async_trait::async_trait;
use vestibule_domain::{
    change::{Change, VisitEnd},
    configuration::Configuration,
    id::{EntryId, QueueId},
    lane::{Lane, LaneProgress},
    load::LoadReport,
    score::Visit,
    tombstone::Tombstone,
};
use vestibule_line::{
    AdjustClockOutcome, AdoptOrder, AdoptOutcome, Arrival, ChangeMark, CheckAssignment, CheckIn, CheckOrder,
    ClaimOutcome, ConfigureOutcome, Cursor, DeadLetterOutcome, EnterOutcome, EntryLine, EntryLookup,
    EvictionPolicy, ExtendOutcome, FallbackTickOrder, JournalLine, JournalRecord, LeaveOutcome, LeaveReason,
    LineError, MinWatermark, Page, PromoteOrder, Promotion, PromotionLine, QueueLine, QueueTrace, QueueView,
    RaiseWatermarkOutcome, RecoveryLine, ReportOrder, ReportOutcome, RequeueOrder, RestoredEntries,
    SessionExtension, SwitchOrder, TickSubscription, UnflushedChanges, UnsavedSwitches, ValidateOutcome,
    Validation,
};

use super::{
    memory_line::{MemoryLine, lock_subscribers},
    queue::Queue,
};

#[async_trait]
impl QueueLine for MemoryLine {
    async fn queue_view(&self, queue: &QueueId) -> Result<QueueView, LineError> {
        self.with_queue(queue, |queue, time| queue.queue_view(time))
    }

    async fn change_mark(&self, queue: &QueueId) -> Result<ChangeMark, LineError> {
        self.with_queue(queue, |queue, _| queue.change_mark())
    }

    async fn eviction_policy(&self) -> Result<EvictionPolicy, LineError> {
        Ok(EvictionPolicy::NoEviction)
    }

    async fn find_trace(&self, queue: &QueueId) -> Result<QueueTrace, LineError> {
        Ok(self.trace(queue))
    }

    fn server_departures(&self) -> u64 {
        0
    }

    async fn lane_progress(&self, queue: &QueueId, lane: u8) -> Result<LaneProgress, LineError> {
        self.with_queue(queue, |queue, _| queue.lane(lane))
    }

    async fn ping(&self) -> Result<(), LineError> {
        Ok(())
    }
}

#[async_trait]
impl EntryLine for MemoryLine {
    async fn enter_lane(
        &self,
        queue: &QueueId,
        id: EntryId,
        arrival: Arrival,
        lane: Lane,
    ) -> Result<EnterOutcome, LineError> {
        self.with_queue(queue, |queue, time| queue.enter(time, id, arrival, lane))
    }

    async fn status(&self, queue: &QueueId, id: EntryId) -> Result<EntryLookup, LineError> {
        self.with_queue(queue, |queue, time| queue.lookup_entry(time.us, id))
    }

    async fn check_in(&self, queue: &QueueId, id: EntryId) -> Result<CheckIn, LineError> {
        self.with_queue(queue, |queue, time| queue.check_in_entry(time.us, id))
    }

    async fn status_many(&self, queue: &QueueId, ids: &[EntryId]) -> Result<Vec<EntryLookup>, LineError> {
        self.with_queue(queue, |queue, time| {
            ids.iter().map(|id| queue.lookup_entry(time.us, *id)).collect()
        })
    }

    async fn subscribe(&self, queue: &QueueId) -> Result<TickSubscription, LineError> {
        let (all, queue) = (self.subscribers.clone(), queue.clone());
        let ticks = lock_subscribers(&all).subscribe(queue.clone());
        Ok(TickSubscription::new(ticks, move || {
            lock_subscribers(&all).drop_closed(&queue);
        }))
    }

    async fn claim(&self, queue: &QueueId, id: EntryId) -> Result<ClaimOutcome, LineError> {
        self.with_queue(queue, |queue, time| queue.claim(time.us, id))
    }

    async fn leave(
        &self,
        queue: &QueueId,
        id: EntryId,
        visit: Option<Visit>,
        reason: LeaveReason,
    ) -> Result<LeaveOutcome, LineError> {
        self.with_queue(queue, |queue, time| queue.leave(time.us, id, visit, reason))
    }

    async fn validate(
        &self,
        queue: &QueueId,
        id: EntryId,
        validation: Validation,
    ) -> Result<ValidateOutcome, LineError> {
        self.with_queue(queue, |queue, time| queue.validate(time.us, id, validation))
    }

    async fn extend(
        &self,
        queue: &QueueId,
        id: EntryId,
        extension: SessionExtension,
    ) -> Result<ExtendOutcome, LineError> {
        self.with_queue(queue, |queue, time| queue.extend(time.us, id, extension))
    }
}

#[async_trait]
impl PromotionLine for MemoryLine {
    async fn promote(&self, queue: &QueueId, order: PromoteOrder) -> Result<Promotion, LineError> {
        let is_lost = |queue: &Queue, fence: MinWatermark| {
            queue.configuration.epoch != fence.epoch || queue.watermark < fence.watermark
        };
        let (promotion, tick) = self.with_queue(queue, |queue, time| {
            if order.min_watermark.is_some_and(|fence| is_lost(queue, fence)) {
                return Err(LineError::QueueNotFound);
            }
            Ok(queue.promote(time, order, self.journal_limits))
        })??;
        if let Some(tick) = tick {
            self.publish_tick(queue, tick);
        }
        Ok(promotion)
    }

    async fn take_fallback_tick(&self, queue: &QueueId, order: FallbackTickOrder) -> Result<bool, LineError> {
        self.with_queue(queue, |queue, time| queue.take_fallback_tick(time, order))
    }

    async fn park_idle_promoter(&self, queue: &QueueId) -> Result<bool, LineError> {
        self.with_queue(queue, |queue, _| queue.park_idle_promoter())
    }

    async fn adjust_clock(&self, queue: &QueueId, offset_ms: i64) -> Result<AdjustClockOutcome, LineError> {
        self.with_queue(queue, |queue, time| queue.adjust_clock(time, offset_ms))
    }

    async fn take_report(&self, queue: &QueueId, order: ReportOrder) -> Result<ReportOutcome, LineError> {
        self.with_queue(queue, |queue, time| queue.take_report(time, order))
    }

    async fn record_load(&self, queue: &QueueId, report: &LoadReport) -> Result<(), LineError> {
        self.with_queue(queue, |queue, time| queue.record_load(time.us, *report))
    }
}

#[async_trait]
impl JournalLine for MemoryLine {
    async fn due_journal_records(
        &self,
        queue: &QueueId,
        records_max: usize,
    ) -> Result<Vec<JournalRecord>, LineError> {
        self.with_queue(queue, |queue, _| {
            queue.due_journal_records((self.clock)(), records_max)
        })
    }

    async fn journal_records(
        &self,
        queue: &QueueId,
        records_max: usize,
    ) -> Result<Vec<JournalRecord>, LineError> {
        self.with_queue(queue, |queue, _| queue.journal_records(records_max))
    }

    async fn append_to_journal(&self, queue: &QueueId, change: &Change) -> Result<(), LineError> {
        let limit = self.journal_limits.all_changes;
        self.with_queue(queue, |queue, _| {
            if queue.journal.add(*change, Some(limit), None) {
                Ok(())
            } else {
                Err(LineError::JournalFull)
            }
        })?
    }

    async fn requeue_with_backoff(&self, queue: &QueueId, order: &RequeueOrder) -> Result<(), LineError> {
        self.with_queue(queue, |queue, _| {
            queue.requeue_with_backoff((self.clock)(), order);
        })
    }

    async fn dead_letter(&self, queue: &QueueId, key: &str) -> Result<DeadLetterOutcome, LineError> {
        let limit = self.journal_limits.dead_letters;
        self.with_queue(queue, |queue, _| queue.dead_letter(key, limit))
    }

    async fn dead_lettered(
        &self,
        queue: &QueueId,
        records_max: usize,
    ) -> Result<Vec<JournalRecord>, LineError> {
        self.with_queue(queue, |queue, _| queue.dead_lettered(records_max))
    }

    async fn acknowledge(
        &self,
        queue: &QueueId,
        keys: &[String],
        ended: &[VisitEnd],
    ) -> Result<(), LineError> {
        self.acknowledge_changes(queue, keys, ended)
    }
}

#[async_trait]
impl RecoveryLine for MemoryLine {
    async fn configure(
        &self,
        queue: &QueueId,
        configuration: &Configuration,
        create: bool,
    ) -> Result<ConfigureOutcome, LineError> {
        if create && self.create_queue(queue, configuration) == ConfigureOutcome::Created {
            return Ok(ConfigureOutcome::Created);
        }
        self.with_queue(queue, |queue, time| queue.configure(time.us, configuration))
    }

    async fn switch(&self, queue: &QueueId, order: &SwitchOrder) -> Result<ConfigureOutcome, LineError> {
        self.with_queue(queue, |queue, time| queue.switch(time.us, order))
    }

    async fn unsaved_switches(&self, queue: &QueueId) -> Result<Option<UnsavedSwitches>, LineError> {
        self.with_queue(queue, |queue, _| queue.list_unsaved_switches())
    }

    async fn settle_switches(&self, queue: &QueueId, serial: u64) -> Result<bool, LineError> {
        self.with_queue(queue, |queue, _| queue.settle_switches(serial))
    }

    async fn restore(
        &self,
        queue: &QueueId,
        configuration: &Configuration,
        fence: u64,
        places: RestoredEntries,
    ) -> Result<ConfigureOutcome, LineError> {
        Ok(self.restore_queue(queue, configuration, fence, places))
    }

    async fn delete_queue(&self, queue: &QueueId, tombstone: &Tombstone) -> Result<bool, LineError> {
        Ok(self.delete_and_bury(queue, *tombstone))
    }

    async fn drop_queue(&self, queue: &QueueId, epoch: u32) -> Result<bool, LineError> {
        Ok(self.drop_for_restore(queue, epoch))
    }

    async fn unflushed(&self, queue: &QueueId, records_max: usize) -> Result<UnflushedChanges, LineError> {
        self.unflushed_changes(queue, records_max)
    }

    async fn raise_watermark(
        &self,
        queue: &QueueId,
        epoch: u32,
        fence: u64,
    ) -> Result<RaiseWatermarkOutcome, LineError> {
        self.with_queue(queue, |queue, _| queue.raise_watermark(epoch, fence))
    }

    async fn read_page(&self, queue: &QueueId, from: &Cursor) -> Result<Page, LineError> {
        self.with_queue(queue, |queue, time| queue.read_page(time.us, from))
    }

    async fn adopt(&self, queue: &QueueId, order: &AdoptOrder) -> Result<AdoptOutcome, LineError> {
        self.with_queue(queue, |queue, time| queue.adopt(time, order))
    }

    async fn take_check(&self, queue: &QueueId, order: CheckOrder) -> Result<CheckAssignment, LineError> {
        self.with_queue(queue, |queue, time| queue.take_check(time.us, order))
    }

    async fn record_check_progress(&self, queue: &QueueId, shards: u8) -> Result<(), LineError> {
        self.with_queue(queue, |queue, time| queue.record_check_progress(time.us, shards))
    }
}
