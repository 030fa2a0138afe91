//! Decides which request of this process ticks which queue.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::{
    sync::{Mutex as Turn, OwnedMutexGuard},
    time::Instant,
};
use vestibule_domain::id::QueueId;

/// How many queues are remembered. A process serves few queues.
const QUEUES_MAX: usize = 1_000;

/// Which request of this process ticks which queue. That request holds the queue's lock, which
/// contains the time of the last tick.
#[derive(Default)]
pub(crate) struct FallbackTicker(Mutex<HashMap<QueueId, Arc<Turn<Option<Instant>>>>>);

/// The right to tick a queue in this process.
pub(crate) type TickGuard = OwnedMutexGuard<Option<Instant>>;

impl FallbackTicker {
    pub(crate) fn tick_lock(&self, queue: &QueueId) -> Arc<Turn<Option<Instant>>> {
        // A panic elsewhere leaves the map intact, so the content of a poisoned lock is still valid.
        let mut turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if turns.len() >= QUEUES_MAX {
            // A queue that is being ticked stays. The others lose only the time of their last tick,
            // which the line knows too.
            turns.retain(|_, turn| Arc::strong_count(turn) > 1);
        }
        turns.entry(queue.clone()).or_default().clone()
    }
}
