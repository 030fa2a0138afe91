//! The line in memory: for one process on a laptop, for simulations, and as the plain statement of the rules that the
//! scripts in [`redis`](super::redis) follow. It outlives its process only by way of the backup.

mod journal;
mod lost;
mod promotion;
mod queue;
mod report;
mod revival;
mod sets;
#[cfg(feature = "given-time")]
mod snapshot;
mod turns;

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{SystemTime, UNIX_EPOCH},
};

use async_trait::async_trait;

#[cfg(feature = "given-time")]
pub use self::snapshot::Snapshot;
use self::{lost::Lost, queue::Queue};
use super::{
    Check, Claimed, Configuration, Configured, Deferral, Departed, Departure, Entered, Extended, Extension,
    JournalLimits, JournalRecord, Line, LineError, Look, Marked, Places, PromoteOrder, Promotion, Remains,
    ReportOrder, Reported, Revival, Revived, SetAside, Validated, View,
};
use crate::domain::{
    change::{Change, Ending},
    id::{EntryId, QueueId},
    load::LoadReport,
    score::Visit,
};

/// Tells the time in Unix microseconds.
pub type Clock = Arc<dyn Fn() -> u64 + Send + Sync>;

/// Every queue of one process.
#[derive(Clone)]
pub struct MemoryLine {
    queues: Arc<Mutex<Queues>>,
    clock: Clock,
    journal_limits: JournalLimits,
}

#[derive(Default)]
struct Queues {
    there: HashMap<QueueId, Queue>,
    /// Dropped to be put back.
    lost: HashMap<QueueId, Lost>,
}

impl MemoryLine {
    /// An empty line that goes by the system's clock.
    pub fn new() -> Self {
        // A clock before 1970 reads as 1970: the line holds still until it is right.
        let system = || {
            SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .unwrap_or_default()
                .as_micros()
        };
        Self::with_clock(Arc::new(move || u64::try_from(system()).unwrap_or(u64::MAX)))
    }

    /// An empty line that goes by another clock: that of a simulation.
    pub fn with_clock(clock: Clock) -> Self {
        Self {
            queues: Arc::default(),
            clock,
            journal_limits: JournalLimits::default(),
        }
    }

    /// The same line with a journal that holds so much.
    #[cfg(any(test, feature = "given-time"))]
    #[must_use]
    pub fn with_journal_limits(self, journal_limits: JournalLimits) -> Self {
        Self {
            journal_limits,
            ..self
        }
    }

    fn with<T>(&self, queue: &QueueId, act: impl FnOnce(&mut Queue, u64) -> T) -> Result<T, LineError> {
        let mut queues = self.lock();
        let now_us = (self.clock)();
        queues
            .there
            .get_mut(queue)
            .map(|queue| act(queue, now_us))
            .ok_or(LineError::Unknown)
    }

    fn add(&self, queue: &QueueId, make: impl FnOnce(u64) -> Queue) -> Configured {
        let mut queues = self.lock();
        // Whoever is to create it may have slept while somebody began to put it back.
        if queues.there.contains_key(queue) || queues.lost.contains_key(queue) {
            return Configured::Same;
        }
        queues.there.insert(queue.clone(), make((self.clock)()));
        Configured::Created
    }

    fn lock(&self) -> MutexGuard<'_, Queues> {
        // Nothing in here panics half-way through a change, so a poisoned lock guards queues that are whole.
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for MemoryLine {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MemoryLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MemoryLine")
    }
}

#[async_trait]
impl Line for MemoryLine {
    async fn enter(&self, queue: &QueueId, id: EntryId) -> Result<Entered, LineError> {
        let most = self.journal_limits.newcomers;
        self.with(queue, |queue, now_us| queue.enter(now_us, id, most))
    }

    async fn status(&self, queue: &QueueId, id: EntryId) -> Result<Look, LineError> {
        self.with(queue, |queue, now_us| queue.look(now_us, id))
    }

    async fn end(&self, queue: &QueueId, id: EntryId) -> Result<Option<Change>, LineError> {
        self.with(queue, |queue, _| queue.ended.get(&id).copied())
    }

    async fn claim(&self, queue: &QueueId, id: EntryId) -> Result<Claimed, LineError> {
        self.with(queue, |queue, now_us| queue.claim(now_us, id))
    }

    async fn leave(
        &self,
        queue: &QueueId,
        id: EntryId,
        visit: Option<Visit>,
        departure: Departure,
    ) -> Result<Departed, LineError> {
        self.with(queue, |queue, now_us| queue.leave(now_us, id, visit, departure))
    }

    async fn validate(&self, queue: &QueueId, id: EntryId, check: Check) -> Result<Validated, LineError> {
        self.with(queue, |queue, now_us| queue.validate(now_us, id, check))
    }

    async fn extend(
        &self,
        queue: &QueueId,
        id: EntryId,
        extension: Extension,
    ) -> Result<Extended, LineError> {
        self.with(queue, |queue, now_us| queue.extend(now_us, id, extension))
    }

    async fn promote(&self, queue: &QueueId, order: PromoteOrder) -> Result<Promotion, LineError> {
        let most = self.journal_limits.newcomers;
        self.with(queue, |queue, now_us| queue.promote(now_us, order, most))
    }

    async fn report(&self, queue: &QueueId, order: ReportOrder) -> Result<Reported, LineError> {
        self.with(queue, |queue, now_us| queue.report(now_us, order))
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
        self.with(queue, |queue, now_us| queue.configure(now_us, configuration))
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
        self.with(queue, |queue, now_us| queue.revive(now_us, revival))
    }

    async fn keep_load(&self, queue: &QueueId, report: &LoadReport) -> Result<(), LineError> {
        self.with(queue, |queue, now_us| queue.keep_load(now_us, *report))
    }

    async fn view(&self, queue: &QueueId) -> Result<View, LineError> {
        self.with(queue, |queue, now_us| queue.view(now_us))
    }

    async fn journal(&self, queue: &QueueId, most: usize) -> Result<Vec<JournalRecord>, LineError> {
        self.with(queue, |queue, now_us| queue.journal(now_us, most))
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
        self.with(queue, |queue, now_us| queue.defer(now_us, deferral))
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

    async fn ping(&self) -> Result<(), LineError> {
        Ok(())
    }
}
