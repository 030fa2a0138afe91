//! The [`Line`] trait for memory: each method calls the queue that it concerns.

use async_trait::async_trait;
use vestibule_domain::{
    change::{Change, Ending},
    id::{EntryId, QueueId},
    load::LoadReport,
    score::Visit,
};
use vestibule_line::{
    Adjusted, Changes, Check, CheckOrder, CheckTurn, Claimed, Configuration, Configured, Cursor, Deferral,
    Departed, Departure, Entered, Extended, Extension, Fence, HoldOrder, Holding, JournalRecord, Line,
    LineError, Look, Marked, Mended, Mending, Page, Places, PromoteOrder, Promotion, Remains, ReportOrder,
    Reported, Revival, Revived, SetAside, TickOrder, Validated, View,
};

use super::{MemoryLine, listeners, queue::Queue};

#[async_trait]
impl Line for MemoryLine {
    async fn enter(&self, queue: &QueueId, id: EntryId) -> Result<Entered, LineError> {
        let most = self.journal_limits.newcomers;
        self.with(queue, |queue, time| queue.enter(time, id, most))
    }

    async fn status(&self, queue: &QueueId, id: EntryId) -> Result<Look, LineError> {
        self.with(queue, |queue, time| queue.look(time.us, id))
    }

    async fn looks(&self, queue: &QueueId, ids: &[EntryId]) -> Result<Vec<Look>, LineError> {
        self.with(queue, |queue, time| {
            ids.iter().map(|id| queue.look(time.us, *id)).collect()
        })
    }

    async fn changes(&self, queue: &QueueId) -> Result<Changes, LineError> {
        let (all, queue) = (self.listeners.clone(), queue.clone());
        let ticks = listeners(&all).add(queue.clone());
        Ok(Changes::new(ticks, move || {
            listeners(&all).drop_closed(&queue);
        }))
    }

    async fn end(&self, queue: &QueueId, id: EntryId) -> Result<Option<Change>, LineError> {
        self.with(queue, |queue, _| queue.ended.get(&id).copied())
    }

    async fn claim(&self, queue: &QueueId, id: EntryId) -> Result<Claimed, LineError> {
        self.with(queue, |queue, time| queue.claim(time.us, id))
    }

    async fn leave(
        &self,
        queue: &QueueId,
        id: EntryId,
        visit: Option<Visit>,
        departure: Departure,
    ) -> Result<Departed, LineError> {
        self.with(queue, |queue, time| queue.leave(time.us, id, visit, departure))
    }

    async fn validate(&self, queue: &QueueId, id: EntryId, check: Check) -> Result<Validated, LineError> {
        self.with(queue, |queue, time| queue.validate(time.us, id, check))
    }

    async fn extend(
        &self,
        queue: &QueueId,
        id: EntryId,
        extension: Extension,
    ) -> Result<Extended, LineError> {
        self.with(queue, |queue, time| queue.extend(time.us, id, extension))
    }

    async fn promote(&self, queue: &QueueId, order: PromoteOrder) -> Result<Promotion, LineError> {
        let most = self.journal_limits.newcomers;
        let is_lost = |queue: &Queue, fence: Fence| {
            queue.configuration.epoch != fence.epoch || queue.fence < fence.mark
        };
        let (promotion, tick) = self.with(queue, |queue, time| {
            if order.fence.is_some_and(|fence| is_lost(queue, fence)) {
                return Err(LineError::Unknown);
            }
            Ok(queue.promote(time, order, most))
        })??;
        if let Some(tick) = tick {
            self.tell(queue, tick);
        }
        Ok(promotion)
    }

    async fn take_tick(&self, queue: &QueueId, order: TickOrder) -> Result<bool, LineError> {
        self.with(queue, |queue, time| queue.take_tick(time, order))
    }

    async fn rest(&self, queue: &QueueId) -> Result<bool, LineError> {
        self.with(queue, |queue, _| queue.rest())
    }

    async fn adjust(&self, queue: &QueueId, offset_ms: i64) -> Result<Adjusted, LineError> {
        self.with(queue, |queue, time| queue.adjust(time, offset_ms))
    }

    async fn report(&self, queue: &QueueId, order: ReportOrder) -> Result<Reported, LineError> {
        self.with(queue, |queue, time| queue.report(time, order))
    }

    async fn configure(
        &self,
        queue: &QueueId,
        configuration: &Configuration,
        create: bool,
    ) -> Result<Configured, LineError> {
        if create
            && self.add(queue, |now_us| Queue::new(now_us, configuration.clone())) == Configured::Created
        {
            return Ok(Configured::Created);
        }
        self.with(queue, |queue, time| queue.configure(time.us, configuration))
    }

    async fn restore(
        &self,
        queue: &QueueId,
        configuration: &Configuration,
        fence: u64,
        places: Places,
    ) -> Result<Configured, LineError> {
        Ok(self.put_back(queue, configuration, fence, places))
    }

    async fn forget(&self, queue: &QueueId, epoch: u32) -> Result<bool, LineError> {
        Ok(self.drop_queue(queue, epoch))
    }

    async fn remains(&self, queue: &QueueId, most: usize) -> Result<Remains, LineError> {
        self.remains_of(queue, most)
    }

    async fn mark(&self, queue: &QueueId, epoch: u32, fence: u64) -> Result<Marked, LineError> {
        self.with(queue, |queue, _| queue.mark(epoch, fence))
    }

    async fn revive(&self, queue: &QueueId, revival: &Revival) -> Result<Revived, LineError> {
        self.with(queue, |queue, time| queue.revive(time.us, revival))
    }

    async fn page(&self, queue: &QueueId, from: &Cursor) -> Result<Page, LineError> {
        self.with(queue, |queue, _| queue.page(from))
    }

    async fn mend(&self, queue: &QueueId, mending: &Mending) -> Result<Mended, LineError> {
        self.with(queue, |queue, time| queue.mend(time.us, mending))
    }

    async fn take_check(&self, queue: &QueueId, order: CheckOrder) -> Result<CheckTurn, LineError> {
        self.with(queue, |queue, time| queue.take_check(time.us, order))
    }

    async fn note_check(&self, queue: &QueueId, shards: u8) -> Result<(), LineError> {
        self.with(queue, |queue, time| queue.note_check(time.us, shards))
    }

    async fn keep_load(&self, queue: &QueueId, report: &LoadReport) -> Result<(), LineError> {
        self.with(queue, |queue, time| queue.keep_load(time.us, *report))
    }

    async fn view(&self, queue: &QueueId) -> Result<View, LineError> {
        self.with(queue, |queue, time| queue.view(time))
    }

    async fn journal(&self, queue: &QueueId, most: usize) -> Result<Vec<JournalRecord>, LineError> {
        self.with(queue, |queue, _| queue.journal((self.clock)(), most))
    }

    async fn whole_journal(&self, queue: &QueueId, most: usize) -> Result<Vec<JournalRecord>, LineError> {
        self.with(queue, |queue, _| queue.journal(u64::MAX, most))
    }

    async fn record(&self, queue: &QueueId, change: &Change) -> Result<(), LineError> {
        let most = self.journal_limits.all;
        self.with(queue, |queue, _| {
            if queue.journal.is_full(most) {
                return Err(LineError::JournalFull);
            }
            queue.record(vec![*change]);
            Ok(())
        })?
    }

    async fn defer(&self, queue: &QueueId, deferral: &Deferral) -> Result<(), LineError> {
        self.with(queue, |queue, _| queue.defer((self.clock)(), deferral))
    }

    async fn set_aside(&self, queue: &QueueId, key: &str) -> Result<SetAside, LineError> {
        let most = self.journal_limits.aside;
        self.with(queue, |queue, _| queue.set_aside(key, most))
    }

    async fn aside(&self, queue: &QueueId, most: usize) -> Result<Vec<JournalRecord>, LineError> {
        self.with(queue, |queue, _| queue.aside(most))
    }

    async fn settle(&self, queue: &QueueId, keys: &[String], ended: &[Ending]) -> Result<(), LineError> {
        self.settle_queue(queue, keys, ended)
    }

    async fn hold(&self, order: &HoldOrder<'_>) -> Result<Holding, LineError> {
        Ok(self.holds.hold((self.clock)() / 1_000, order))
    }

    async fn release(&self, deployment: &str, ids: &[EntryId]) -> Result<(), LineError> {
        self.holds.release(deployment, ids);
        Ok(())
    }

    async fn ping(&self) -> Result<(), LineError> {
        Ok(())
    }
}
