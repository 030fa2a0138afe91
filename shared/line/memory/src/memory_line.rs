//! The queues of one process, and the clocks that their steps read.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use vestibule_clock::{Clock, system_clock};
use vestibule_domain::{clock::LineTime, configuration::Configuration, id::QueueId};
use vestibule_line::{ConfigureOutcome, JournalLimits, LineError, Subscribers, Tick};

use super::{call_counts::CallCounts, held_poll_leases::HeldPollLeases, queue::Queue, queues::Queues};

/// A line that holds all queues of one process in memory.
#[derive(Clone)]
pub struct MemoryLine {
    queues: Arc<Mutex<Queues>>,
    pub(super) holds: HeldPollLeases,
    pub(super) calls: CallCounts,
    pub(super) subscribers: Arc<Mutex<Subscribers<QueueId>>>,
    pub(super) clock: Clock,
    pub(super) journal_limits: JournalLimits,
    /// The clock of the callers, if it differs from `clock`. Within one process both are the same,
    /// so the line cannot notice that the clock is wrong.
    witness: Option<Clock>,
}

impl MemoryLine {
    /// An empty line with the system's clock.
    pub fn new() -> Self {
        Self::with_clock(system_clock())
    }

    /// An empty line with another clock, such as that of a simulation.
    pub fn with_clock(clock: Clock) -> Self {
        Self {
            queues: Arc::default(),
            holds: HeldPollLeases::default(),
            calls: CallCounts::default(),
            subscribers: Arc::default(),
            clock,
            journal_limits: JournalLimits::default(),
            witness: None,
        }
    }

    /// Returns the line with these journal limits.
    #[cfg(any(test, feature = "given-time"))]
    #[must_use]
    pub fn with_journal_limits(self, journal_limits: JournalLimits) -> Self {
        Self {
            journal_limits,
            ..self
        }
    }

    /// Returns the line with another clock for its callers.
    #[cfg(any(test, feature = "given-time"))]
    #[must_use]
    pub fn with_witness(self, witness: Clock) -> Self {
        Self {
            witness: Some(witness),
            ..self
        }
    }

    pub(super) fn line_time(&self, offset_ms: i64, last_us: u64) -> LineTime {
        let server_us = (self.clock)();
        let witness_us = self.witness.as_ref().map_or(server_us, |witness| witness());
        LineTime::from_clocks(server_us, offset_ms, witness_us / 1_000, last_us)
    }

    pub(super) fn with_queue<T>(
        &self,
        queue: &QueueId,
        act: impl FnOnce(&mut Queue, LineTime) -> T,
    ) -> Result<T, LineError> {
        let mut queues = self.lock();
        let queue = queues.live.get_mut(queue).ok_or(LineError::QueueNotFound)?;
        let time = self.line_time(queue.offset_ms, queue.last_us());
        Ok(act(queue, time))
    }

    pub(super) fn create_queue(&self, queue: &QueueId, configuration: &Configuration) -> ConfigureOutcome {
        let mut queues = self.lock();
        // A restore may have begun after this caller decided to create the queue, or the queue was deleted. Both win.
        if queues.live.contains_key(queue)
            || queues.dropped.contains_key(queue)
            || queues.is_deleted_since(queue, configuration.epoch)
        {
            return ConfigureOutcome::Unchanged;
        }
        queues.tombstones.remove(queue);
        let now_us = self.line_time(0, 0).us;
        queues
            .live
            .insert(queue.clone(), Queue::new(now_us, configuration.clone()));
        ConfigureOutcome::Created
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Queues> {
        // No code panics halfway through a change of a queue, so the queues are consistent even if
        // the lock is poisoned.
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn publish_tick(&self, queue: &QueueId, tick: Tick) {
        lock_subscribers(&self.subscribers).send_tick(queue, tick);
    }
}

pub(super) fn lock_subscribers(all: &Mutex<Subscribers<QueueId>>) -> MutexGuard<'_, Subscribers<QueueId>> {
    all.lock().unwrap_or_else(PoisonError::into_inner)
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
