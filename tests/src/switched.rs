//! A line in memory that can be out of reach, and keeps all that it has meanwhile.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use async_trait::async_trait;
use vestibule::{
    domain::{
        change::{Change, Ending},
        id::{EntryId, QueueId},
        load::LoadReport,
        score::Visit,
    },
    line::{
        Adjusted, Check, CheckOrder, CheckTurn, Claimed, Configuration, Configured, Cursor, Deferral,
        Departed, Departure, Entered, Extended, Extension, JournalRecord, Line, LineError, Look, Marked,
        Mended, Mending, Page, Places, PromoteOrder, Promotion, Remains, ReportOrder, Reported, Revival,
        Revived, SetAside, TickOrder, Validated, View, memory::MemoryLine,
    },
};

/// Turns a line off and on.
#[derive(Clone, Default)]
pub struct Switch {
    is_off: Arc<AtomicBool>,
    tries: Arc<AtomicU64>,
    calls_drive: Arc<AtomicBool>,
    offers: Arc<AtomicU64>,
}

impl Switch {
    /// From now on nobody reaches the line.
    pub fn turn_off(&self) {
        self.is_off.store(true, Ordering::SeqCst);
    }

    /// From now on everybody does.
    pub fn turn_on(&self) {
        self.is_off.store(false, Ordering::SeqCst);
    }

    /// From now on calls drive the line where no promoter does: until then the test is the promoter.
    pub fn let_calls_drive(&self) {
        self.calls_drive.store(true, Ordering::SeqCst);
    }

    /// How often somebody who called has offered to drive since then.
    pub fn offers(&self) -> u64 {
        self.offers.load(Ordering::SeqCst)
    }

    /// How often somebody tried in vain.
    pub fn tries(&self) -> u64 {
        self.tries.load(Ordering::SeqCst)
    }
}

/// A line with a switch.
pub(crate) struct Switched {
    pub(crate) line: MemoryLine,
    pub(crate) switch: Switch,
}

impl Switched {
    fn reach(&self) -> Result<&MemoryLine, LineError> {
        if self.switch.is_off.load(Ordering::SeqCst) {
            self.switch.tries.fetch_add(1, Ordering::SeqCst);
            return Err(LineError::Unavailable("turned off by a test".to_owned()));
        }
        Ok(&self.line)
    }
}

#[async_trait]
impl Line for Switched {
    async fn enter(&self, queue: &QueueId, id: EntryId) -> Result<Entered, LineError> {
        self.reach()?.enter(queue, id).await
    }

    async fn status(&self, queue: &QueueId, id: EntryId) -> Result<Look, LineError> {
        self.reach()?.status(queue, id).await
    }

    async fn end(&self, queue: &QueueId, id: EntryId) -> Result<Option<Change>, LineError> {
        self.reach()?.end(queue, id).await
    }

    async fn claim(&self, queue: &QueueId, id: EntryId) -> Result<Claimed, LineError> {
        self.reach()?.claim(queue, id).await
    }

    async fn leave(
        &self,
        queue: &QueueId,
        id: EntryId,
        visit: Option<Visit>,
        departure: Departure,
    ) -> Result<Departed, LineError> {
        self.reach()?.leave(queue, id, visit, departure).await
    }

    async fn validate(&self, queue: &QueueId, id: EntryId, check: Check) -> Result<Validated, LineError> {
        self.reach()?.validate(queue, id, check).await
    }

    async fn extend(
        &self,
        queue: &QueueId,
        id: EntryId,
        extension: Extension,
    ) -> Result<Extended, LineError> {
        self.reach()?.extend(queue, id, extension).await
    }

    async fn promote(&self, queue: &QueueId, order: PromoteOrder) -> Result<Promotion, LineError> {
        self.reach()?.promote(queue, order).await
    }

    async fn take_tick(&self, queue: &QueueId, order: TickOrder) -> Result<bool, LineError> {
        let line = self.reach()?;
        if !self.switch.calls_drive.load(Ordering::SeqCst) {
            return Ok(false);
        }
        self.switch.offers.fetch_add(1, Ordering::SeqCst);
        line.take_tick(queue, order).await
    }

    async fn rest(&self, queue: &QueueId) -> Result<bool, LineError> {
        self.reach()?.rest(queue).await
    }

    async fn adjust(&self, queue: &QueueId, offset_ms: i64) -> Result<Adjusted, LineError> {
        self.reach()?.adjust(queue, offset_ms).await
    }

    async fn report(&self, queue: &QueueId, order: ReportOrder) -> Result<Reported, LineError> {
        self.reach()?.report(queue, order).await
    }

    async fn configure(
        &self,
        queue: &QueueId,
        configuration: &Configuration,
        create: bool,
    ) -> Result<Configured, LineError> {
        self.reach()?.configure(queue, configuration, create).await
    }

    async fn restore(
        &self,
        queue: &QueueId,
        configuration: &Configuration,
        fence: u64,
        places: Places,
    ) -> Result<Configured, LineError> {
        self.reach()?.restore(queue, configuration, fence, places).await
    }

    async fn forget(&self, queue: &QueueId, epoch: u32) -> Result<bool, LineError> {
        self.reach()?.forget(queue, epoch).await
    }

    async fn remains(&self, queue: &QueueId, most: usize) -> Result<Remains, LineError> {
        self.reach()?.remains(queue, most).await
    }

    async fn mark(&self, queue: &QueueId, epoch: u32, fence: u64) -> Result<Marked, LineError> {
        self.reach()?.mark(queue, epoch, fence).await
    }

    async fn revive(&self, queue: &QueueId, revival: &Revival) -> Result<Revived, LineError> {
        self.reach()?.revive(queue, revival).await
    }

    async fn page(&self, queue: &QueueId, from: &Cursor) -> Result<Page, LineError> {
        self.reach()?.page(queue, from).await
    }

    async fn mend(&self, queue: &QueueId, mending: &Mending) -> Result<Mended, LineError> {
        self.reach()?.mend(queue, mending).await
    }

    async fn take_check(&self, queue: &QueueId, order: CheckOrder) -> Result<CheckTurn, LineError> {
        self.reach()?.take_check(queue, order).await
    }

    async fn note_check(&self, queue: &QueueId, shards: u8) -> Result<(), LineError> {
        self.reach()?.note_check(queue, shards).await
    }

    async fn keep_load(&self, queue: &QueueId, report: &LoadReport) -> Result<(), LineError> {
        self.reach()?.keep_load(queue, report).await
    }

    async fn view(&self, queue: &QueueId) -> Result<View, LineError> {
        self.reach()?.view(queue).await
    }

    async fn journal(&self, queue: &QueueId, most: usize) -> Result<Vec<JournalRecord>, LineError> {
        self.reach()?.journal(queue, most).await
    }

    async fn record(&self, queue: &QueueId, change: &Change) -> Result<(), LineError> {
        self.reach()?.record(queue, change).await
    }

    async fn defer(&self, queue: &QueueId, deferral: &Deferral) -> Result<(), LineError> {
        self.reach()?.defer(queue, deferral).await
    }

    async fn set_aside(&self, queue: &QueueId, key: &str) -> Result<SetAside, LineError> {
        self.reach()?.set_aside(queue, key).await
    }

    async fn aside(&self, queue: &QueueId, most: usize) -> Result<Vec<JournalRecord>, LineError> {
        self.reach()?.aside(queue, most).await
    }

    async fn settle(&self, queue: &QueueId, keys: &[String], ended: &[Ending]) -> Result<(), LineError> {
        self.reach()?.settle(queue, keys, ended).await
    }

    async fn ping(&self) -> Result<(), LineError> {
        self.reach()?.ping().await
    }
}
