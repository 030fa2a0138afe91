//! The line in memory: for one process on a laptop and for simulations.
//!
//! It also is the readable specification of the rules that the scripts in [`redis`](super::redis) follow. Its state
//! does not survive the process. Only what is in the backup does.

mod check;
mod clock;
mod driver;
mod entering;
mod holds;
mod journal;
mod line;
mod lost;
mod promotion;
mod queue;
mod report;
mod revival;
#[cfg(feature = "given-time")]
mod snapshot;
mod timed;
mod turns;
mod waiting;

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use vestibule_clock::{Clock, system_clock};
use vestibule_domain::{clock::LineTime, id::QueueId};
use vestibule_line::{Configured, JournalLimits, LineError, Listeners, Tick};

#[cfg(feature = "given-time")]
pub use self::snapshot::Snapshot;
use self::{holds::Holds, lost::Lost, queue::Queue};

/// A line that holds all queues of one process in memory.
#[derive(Clone)]
pub struct MemoryLine {
    queues: Arc<Mutex<Queues>>,
    holds: Holds,
    listeners: Arc<Mutex<Listeners<QueueId>>>,
    clock: Clock,
    journal_limits: JournalLimits,
    /// The clock of the callers, if it differs from `clock`. Within one process both are the same, so the line
    /// cannot notice that the clock is wrong.
    witness: Option<Clock>,
}

#[derive(Default)]
struct Queues {
    there: HashMap<QueueId, Queue>,
    /// Queues that were dropped for a restore.
    lost: HashMap<QueueId, Lost>,
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
            holds: Holds::default(),
            listeners: Arc::default(),
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

    fn time(&self, offset_ms: i64, last_us: u64) -> LineTime {
        let server_us = (self.clock)();
        let witness_us = self.witness.as_ref().map_or(server_us, |witness| witness());
        LineTime::read(server_us, offset_ms, witness_us / 1_000, last_us)
    }

    fn with<T>(&self, queue: &QueueId, act: impl FnOnce(&mut Queue, LineTime) -> T) -> Result<T, LineError> {
        let mut queues = self.lock();
        let queue = queues.there.get_mut(queue).ok_or(LineError::Unknown)?;
        let time = self.time(queue.offset_ms, queue.last_us());
        Ok(act(queue, time))
    }

    fn add(&self, queue: &QueueId, make: impl FnOnce(u64) -> Queue) -> Configured {
        let mut queues = self.lock();
        // A restore may have begun after this caller decided to create the queue. The restore wins.
        if queues.there.contains_key(queue) || queues.lost.contains_key(queue) {
            return Configured::Same;
        }
        queues.there.insert(queue.clone(), make(self.time(0, 0).us));
        Configured::Created
    }

    fn lock(&self) -> MutexGuard<'_, Queues> {
        // No code panics halfway through a change of a queue, so the queues are consistent even if the lock is
        // poisoned.
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, queue: &QueueId, tick: Tick) {
        listeners(&self.listeners).tell(queue, tick);
    }
}

fn listeners(all: &Mutex<Listeners<QueueId>>) -> MutexGuard<'_, Listeners<QueueId>> {
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
