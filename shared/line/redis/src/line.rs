//! Implements [`Line`] for [`RedisLine`]. Each method calls the file of its operation, and most of those
//! files send the Lua script of the same name.

use std::time::Duration;

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
    LineError, Page, PromoteOrder, Promotion, PromotionLine, QueueLine, QueueTrace, QueueView,
    RaiseWatermarkOutcome, RecoveryLine, ReportOrder, ReportOutcome, RequeueOrder, RestoredEntries,
    SessionExtension, SwitchOrder, TickSubscription, UnflushedChanges, UnsavedSwitches, VIEW_AGE_MAX,
    ValidateOutcome, Validation,
};

use super::{
    RedisLine, acknowledge, adjust_clock, adopt, append_to_journal, change_mark, changes, check_in, claim,
    configure, connect::Request, dead_letter, delete_queue, drop_queue, enter, eviction_policy,
    journal_records, lanes, leave, park_idle_promoter, promote, queue_trace, queue_view, raise_watermark,
    read_due_records, read_page, record_check_progress, record_load, requeue_with_backoff, restore,
    settle_switches, status, status_many, take_check, take_fallback_tick, take_report, unflushed, validate,
};

#[async_trait]
impl QueueLine for RedisLine {
    async fn queue_view(&self, queue: &QueueId) -> Result<QueueView, LineError> {
        queue_view::queue_view(self, queue, Duration::ZERO).await
    }

    async fn recent_queue_view(&self, queue: &QueueId) -> Result<QueueView, LineError> {
        queue_view::queue_view(self, queue, VIEW_AGE_MAX).await
    }

    async fn change_mark(&self, queue: &QueueId) -> Result<ChangeMark, LineError> {
        change_mark::read_change_mark(self, queue).await
    }

    async fn eviction_policy(&self) -> Result<EvictionPolicy, LineError> {
        eviction_policy::read_eviction_policy(self).await
    }

    async fn find_trace(&self, queue: &QueueId) -> Result<QueueTrace, LineError> {
        queue_trace::find_trace(self, queue).await
    }

    fn server_departures(&self) -> u64 {
        self.connection.departures()
    }

    async fn lane_progress(&self, queue: &QueueId, lane: u8) -> Result<LaneProgress, LineError> {
        lanes::lane_progress(self, queue, lane).await
    }

    async fn ping(&self) -> Result<(), LineError> {
        self.connection.send(Request::Command(&redis::cmd("PING"))).await
    }
}

#[async_trait]
impl EntryLine for RedisLine {
    async fn enter_lane(
        &self,
        queue: &QueueId,
        id: EntryId,
        arrival: Arrival,
        lane: Lane,
    ) -> Result<EnterOutcome, LineError> {
        enter::enter(self, queue, id, arrival, lane).await
    }

    async fn status(&self, queue: &QueueId, id: EntryId) -> Result<EntryLookup, LineError> {
        status::status(self, queue, id).await
    }

    async fn check_in(&self, queue: &QueueId, id: EntryId) -> Result<CheckIn, LineError> {
        check_in::check_in(self, queue, id).await
    }

    async fn status_many(&self, queue: &QueueId, ids: &[EntryId]) -> Result<Vec<EntryLookup>, LineError> {
        status_many::status_many(self, queue, ids).await
    }

    async fn subscribe(&self, queue: &QueueId) -> Result<TickSubscription, LineError> {
        changes::subscribe(self, queue).await
    }

    async fn claim(&self, queue: &QueueId, id: EntryId) -> Result<ClaimOutcome, LineError> {
        claim::claim(self, queue, id).await
    }

    async fn leave(
        &self,
        queue: &QueueId,
        id: EntryId,
        visit: Option<Visit>,
        departure: LeaveReason,
    ) -> Result<LeaveOutcome, LineError> {
        leave::leave(self, queue, id, visit, departure).await
    }

    async fn validate(
        &self,
        queue: &QueueId,
        id: EntryId,
        check: Validation,
    ) -> Result<ValidateOutcome, LineError> {
        validate::validate(self, queue, id, check).await
    }

    async fn extend(
        &self,
        queue: &QueueId,
        id: EntryId,
        extension: SessionExtension,
    ) -> Result<ExtendOutcome, LineError> {
        validate::extend(self, queue, id, extension).await
    }
}

#[async_trait]
impl PromotionLine for RedisLine {
    async fn promote(&self, queue: &QueueId, order: PromoteOrder) -> Result<Promotion, LineError> {
        promote::promote(self, queue, order).await
    }

    async fn take_fallback_tick(&self, queue: &QueueId, order: FallbackTickOrder) -> Result<bool, LineError> {
        take_fallback_tick::take_fallback_tick(self, queue, order).await
    }

    async fn park_idle_promoter(&self, queue: &QueueId) -> Result<bool, LineError> {
        park_idle_promoter::park_idle_promoter(self, queue).await
    }

    async fn adjust_clock(&self, queue: &QueueId, offset_ms: i64) -> Result<AdjustClockOutcome, LineError> {
        adjust_clock::adjust_clock(self, queue, offset_ms).await
    }

    async fn take_report(&self, queue: &QueueId, order: ReportOrder) -> Result<ReportOutcome, LineError> {
        take_report::take_report(self, queue, order).await
    }

    async fn record_load(&self, queue: &QueueId, report: &LoadReport) -> Result<(), LineError> {
        record_load::record_load(self, queue, report).await
    }
}

#[async_trait]
impl JournalLine for RedisLine {
    async fn due_journal_records(
        &self,
        queue: &QueueId,
        records_max: usize,
    ) -> Result<Vec<JournalRecord>, LineError> {
        read_due_records::read_due_records(self, queue, records_max).await
    }

    async fn journal_records(
        &self,
        queue: &QueueId,
        records_max: usize,
    ) -> Result<Vec<JournalRecord>, LineError> {
        journal_records::read_journal_records(self, queue, records_max).await
    }

    async fn append_to_journal(&self, queue: &QueueId, change: &Change) -> Result<(), LineError> {
        append_to_journal::append_to_journal(self, queue, change).await
    }

    async fn requeue_with_backoff(&self, queue: &QueueId, deferral: &RequeueOrder) -> Result<(), LineError> {
        requeue_with_backoff::requeue_with_backoff(self, queue, deferral).await
    }

    async fn dead_letter(&self, queue: &QueueId, key: &str) -> Result<DeadLetterOutcome, LineError> {
        dead_letter::dead_letter(self, queue, key).await
    }

    async fn dead_lettered(
        &self,
        queue: &QueueId,
        records_max: usize,
    ) -> Result<Vec<JournalRecord>, LineError> {
        journal_records::read_dead_letters(self, queue, records_max).await
    }

    async fn acknowledge(
        &self,
        queue: &QueueId,
        keys: &[String],
        ended: &[VisitEnd],
    ) -> Result<(), LineError> {
        acknowledge::acknowledge(self, queue, keys, ended).await
    }
}

#[async_trait]
impl RecoveryLine for RedisLine {
    async fn configure(
        &self,
        queue: &QueueId,
        configuration: &Configuration,
        create: bool,
    ) -> Result<ConfigureOutcome, LineError> {
        configure::configure(self, queue, configuration, create).await
    }

    async fn switch(&self, queue: &QueueId, order: &SwitchOrder) -> Result<ConfigureOutcome, LineError> {
        configure::switch(self, queue, order).await
    }

    async fn unsaved_switches(&self, queue: &QueueId) -> Result<Option<UnsavedSwitches>, LineError> {
        settle_switches::unsaved_switches(self, queue).await
    }

    async fn settle_switches(&self, queue: &QueueId, serial: u64) -> Result<bool, LineError> {
        settle_switches::settle_switches(self, queue, serial).await
    }

    async fn restore(
        &self,
        queue: &QueueId,
        configuration: &Configuration,
        fence: u64,
        places: RestoredEntries,
    ) -> Result<ConfigureOutcome, LineError> {
        restore::restore(self, queue, configuration, fence, places).await
    }

    async fn delete_queue(&self, queue: &QueueId, tombstone: &Tombstone) -> Result<bool, LineError> {
        delete_queue::delete_queue(self, queue, tombstone).await
    }

    async fn drop_queue(&self, queue: &QueueId, epoch: u32) -> Result<bool, LineError> {
        drop_queue::drop_queue(self, queue, epoch).await
    }

    async fn unflushed(&self, queue: &QueueId, records_max: usize) -> Result<UnflushedChanges, LineError> {
        unflushed::unflushed(self, queue, records_max).await
    }

    async fn raise_watermark(
        &self,
        queue: &QueueId,
        epoch: u32,
        fence: u64,
    ) -> Result<RaiseWatermarkOutcome, LineError> {
        raise_watermark::raise_watermark(self, queue, epoch, fence).await
    }

    async fn read_page(&self, queue: &QueueId, from: &Cursor) -> Result<Page, LineError> {
        read_page::read_page(self, queue, from).await
    }

    async fn adopt(&self, queue: &QueueId, order: &AdoptOrder) -> Result<AdoptOutcome, LineError> {
        adopt::adopt(self, queue, order).await
    }

    async fn take_check(&self, queue: &QueueId, order: CheckOrder) -> Result<CheckAssignment, LineError> {
        take_check::take_check(self, queue, order).await
    }

    async fn record_check_progress(&self, queue: &QueueId, shards: u8) -> Result<(), LineError> {
        record_check_progress::record_check_progress(self, queue, shards).await
    }
}
