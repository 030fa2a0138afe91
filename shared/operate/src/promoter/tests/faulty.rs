//! A test double: the line in memory with injected faults, for situations that the real one never produces.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use tokio::time::sleep;
use vestibule_domain::{
    change::{Change, Ending},
    id::{EntryId, QueueId},
    load::LoadReport,
    score::Visit,
};
use vestibule_line::{
    Adjusted, Changes, Check, CheckOrder, CheckTurn, Claimed, Configuration, Configured, Cursor, Deferral,
    Departed, Departure, Entered, Extended, Extension, HoldOrder, Holding, JournalRecord, Line, LineError,
    Look, Marked, Mended, Mending, Page, Places, PromoteOrder, Promotion, Remains, ReportOrder, Reported,
    Revival, Revived, SetAside, TickOrder, Validated, View,
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

pub(super) struct Faulty {
    line: Mutex<MemoryLine>,
    faults: Mutex<HashMap<String, Fault>>,
    calls: Mutex<HashMap<String, u64>>,
}

impl Faulty {
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

    fn sound(&self) -> MemoryLine {
        lock(&self.line).clone()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[async_trait]
impl Line for Faulty {
    async fn promote(&self, queue: &QueueId, order: PromoteOrder) -> Result<Promotion, LineError> {
        *lock(&self.calls).entry(queue.to_string()).or_default() += 1;
        let fault = lock(&self.faults).get(queue.as_str()).copied();
        match fault {
            Some(Fault::Broken) => return Err(LineError::Unavailable("broken by a test".to_owned())),
            Some(Fault::Slow(time)) => sleep(time).await,
            None => {}
        }
        self.sound().promote(queue, order).await
    }

    async fn enter(&self, queue: &QueueId, id: EntryId) -> Result<Entered, LineError> {
        self.sound().enter(queue, id).await
    }

    async fn status(&self, queue: &QueueId, id: EntryId) -> Result<Look, LineError> {
        self.sound().status(queue, id).await
    }

    async fn looks(&self, queue: &QueueId, ids: &[EntryId]) -> Result<Vec<Look>, LineError> {
        self.sound().looks(queue, ids).await
    }

    async fn changes(&self, queue: &QueueId) -> Result<Changes, LineError> {
        self.sound().changes(queue).await
    }

    async fn end(&self, queue: &QueueId, id: EntryId) -> Result<Option<Change>, LineError> {
        self.sound().end(queue, id).await
    }

    async fn claim(&self, queue: &QueueId, id: EntryId) -> Result<Claimed, LineError> {
        self.sound().claim(queue, id).await
    }

    async fn leave(
        &self,
        queue: &QueueId,
        id: EntryId,
        visit: Option<Visit>,
        departure: Departure,
    ) -> Result<Departed, LineError> {
        self.sound().leave(queue, id, visit, departure).await
    }

    async fn validate(&self, queue: &QueueId, id: EntryId, check: Check) -> Result<Validated, LineError> {
        self.sound().validate(queue, id, check).await
    }

    async fn extend(
        &self,
        queue: &QueueId,
        id: EntryId,
        extension: Extension,
    ) -> Result<Extended, LineError> {
        self.sound().extend(queue, id, extension).await
    }

    async fn take_tick(&self, queue: &QueueId, order: TickOrder) -> Result<bool, LineError> {
        self.sound().take_tick(queue, order).await
    }

    async fn rest(&self, queue: &QueueId) -> Result<bool, LineError> {
        self.sound().rest(queue).await
    }

    async fn adjust(&self, queue: &QueueId, offset_ms: i64) -> Result<Adjusted, LineError> {
        self.sound().adjust(queue, offset_ms).await
    }

    async fn report(&self, queue: &QueueId, order: ReportOrder) -> Result<Reported, LineError> {
        self.sound().report(queue, order).await
    }

    async fn configure(
        &self,
        queue: &QueueId,
        configuration: &Configuration,
        create: bool,
    ) -> Result<Configured, LineError> {
        self.sound().configure(queue, configuration, create).await
    }

    async fn restore(
        &self,
        queue: &QueueId,
        configuration: &Configuration,
        fence: u64,
        places: Places,
    ) -> Result<Configured, LineError> {
        self.sound().restore(queue, configuration, fence, places).await
    }

    async fn forget(&self, queue: &QueueId, epoch: u32) -> Result<bool, LineError> {
        self.sound().forget(queue, epoch).await
    }

    async fn remains(&self, queue: &QueueId, most: usize) -> Result<Remains, LineError> {
        self.sound().remains(queue, most).await
    }

    async fn mark(&self, queue: &QueueId, epoch: u32, fence: u64) -> Result<Marked, LineError> {
        self.sound().mark(queue, epoch, fence).await
    }

    async fn revive(&self, queue: &QueueId, revival: &Revival) -> Result<Revived, LineError> {
        self.sound().revive(queue, revival).await
    }

    async fn page(&self, queue: &QueueId, from: &Cursor) -> Result<Page, LineError> {
        self.sound().page(queue, from).await
    }

    async fn mend(&self, queue: &QueueId, mending: &Mending) -> Result<Mended, LineError> {
        self.sound().mend(queue, mending).await
    }

    async fn take_check(&self, queue: &QueueId, order: CheckOrder) -> Result<CheckTurn, LineError> {
        self.sound().take_check(queue, order).await
    }

    async fn note_check(&self, queue: &QueueId, shards: u8) -> Result<(), LineError> {
        self.sound().note_check(queue, shards).await
    }

    async fn keep_load(&self, queue: &QueueId, report: &LoadReport) -> Result<(), LineError> {
        self.sound().keep_load(queue, report).await
    }

    async fn view(&self, queue: &QueueId) -> Result<View, LineError> {
        self.sound().view(queue).await
    }

    async fn journal(&self, queue: &QueueId, most: usize) -> Result<Vec<JournalRecord>, LineError> {
        self.sound().journal(queue, most).await
    }

    async fn whole_journal(&self, queue: &QueueId, most: usize) -> Result<Vec<JournalRecord>, LineError> {
        self.sound().whole_journal(queue, most).await
    }

    async fn record(&self, queue: &QueueId, change: &Change) -> Result<(), LineError> {
        self.sound().record(queue, change).await
    }

    async fn defer(&self, queue: &QueueId, deferral: &Deferral) -> Result<(), LineError> {
        self.sound().defer(queue, deferral).await
    }

    async fn set_aside(&self, queue: &QueueId, key: &str) -> Result<SetAside, LineError> {
        self.sound().set_aside(queue, key).await
    }

    async fn aside(&self, queue: &QueueId, most: usize) -> Result<Vec<JournalRecord>, LineError> {
        self.sound().aside(queue, most).await
    }

    async fn settle(&self, queue: &QueueId, keys: &[String], ended: &[Ending]) -> Result<(), LineError> {
        self.sound().settle(queue, keys, ended).await
    }

    async fn hold(&self, order: &HoldOrder<'_>) -> Result<Holding, LineError> {
        self.sound().hold(order).await
    }

    async fn release(&self, deployment: &str, ids: &[EntryId]) -> Result<(), LineError> {
        self.sound().release(deployment, ids).await
    }

    async fn ping(&self) -> Result<(), LineError> {
        self.sound().ping().await
    }
}
