//! What the promoter knows of the queues, and what it has said of them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;
use tracing::{info, warn};

use super::sync::Put;
use crate::{backup::Shelf, domain::id::QueueId, line::Fence};

/// The queues as of the last listing.
#[derive(Debug, Default)]
pub(super) struct Known {
    queues: Mutex<BTreeMap<QueueId, Queue>>,
    /// When this run first listed them.
    listed_at: Mutex<Option<Instant>>,
}

#[derive(Debug, Default)]
struct Queue {
    /// Unknown until it was synced once.
    shelf: Option<Shelf>,
    /// Since when nobody has been in it, as far as the ticks of this run tell.
    empty_since: Option<Instant>,
    /// When what was set aside was last tried again.
    retried_at: Option<Instant>,
    /// What is wrong, by the step that found it: said once, not every second.
    troubles: BTreeMap<&'static str, String>,
    /// What was in force at the last sync.
    put: Option<Put>,
}

impl Known {
    /// Takes a listing over: new queues come, those that are not in it go.
    pub(super) fn listed(&self, queues: Vec<QueueId>) {
        lock(&self.listed_at).get_or_insert_with(Instant::now);
        let queues: BTreeSet<_> = queues.into_iter().collect();
        let mut known = self.lock();
        known.retain(|queue, _| queues.contains(queue));
        for queue in queues {
            known.entry(queue).or_default();
        }
    }

    pub(super) fn queues(&self) -> Vec<QueueId> {
        self.lock().keys().cloned().collect()
    }

    pub(super) fn shelf(&self, queue: &QueueId) -> Option<Shelf> {
        self.lock().get(queue)?.shelf.clone()
    }

    pub(super) fn found(&self, queue: &QueueId, shelf: Shelf, put: Put) {
        let mut known = self.lock();
        let known = known.entry(queue.clone()).or_default();
        known.shelf = Some(shelf);
        known.put = Some(put);
    }

    /// How far its line is at least, as of the last sync.
    pub(super) fn fence(&self, queue: &QueueId) -> Option<Fence> {
        Some(self.lock().get(queue)?.put?.fence)
    }

    /// Whether it is time to try again what was set aside, every so often: whoever is told so does it.
    pub(super) fn is_retry_due(&self, queue: &QueueId, every: Duration) -> bool {
        let mut known = self.lock();
        let Some(entry) = known.get_mut(queue) else {
            return false;
        };
        let is_due = entry.retried_at.is_none_or(|at| at.elapsed() >= every);
        if is_due {
            entry.retried_at = Some(Instant::now());
        }
        is_due
    }

    /// A run begins: what the one before saw was long ago.
    pub(super) fn begin(&self) {
        *lock(&self.listed_at) = None;
        for entry in self.lock().values_mut() {
            entry.empty_since = None;
        }
    }

    /// Whether anybody was in the queue at its last tick; where that failed, somebody may be.
    pub(super) fn saw(&self, queue: &QueueId, is_empty: bool) {
        if let Some(entry) = self.lock().get_mut(queue) {
            entry.empty_since = is_empty.then(|| entry.empty_since.unwrap_or_else(Instant::now));
        }
    }

    /// Whether nobody has been in any queue for so long, and no queue is missing that the backup has.
    pub(super) fn is_empty_for(&self, time: Duration) -> bool {
        let is_past = |since: Option<Instant>| since.is_some_and(|since| since.elapsed() >= time);
        is_past(*lock(&self.listed_at)) && self.lock().values().all(|entry| is_past(entry.empty_since))
    }

    pub(super) fn gone(&self, queue: &QueueId) {
        self.lock().remove(queue);
    }

    /// Logs what a step ran into when it is new, and that it is over when it is.
    pub(super) fn note(&self, queue: &QueueId, step: &'static str, outcome: Result<(), String>) {
        let mut known = self.lock();
        let Some(entry) = known.get_mut(queue) else { return };
        match outcome {
            Err(trouble) if entry.troubles.get(step) != Some(&trouble) => {
                warn!(
                    event = "queue.step_failed",
                    %queue,
                    step,
                    %trouble,
                    "a promoter step failed for the queue; the log shows the same problem only once"
                );
                entry.troubles.insert(step, trouble);
            }
            Ok(()) if entry.troubles.remove(step).is_some() => {
                info!(
                    event = "queue.step_recovered",
                    %queue,
                    step,
                    "a promoter step that had failed for the queue succeeded"
                );
            }
            Ok(()) | Err(_) => {}
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<QueueId, Queue>> {
        lock(&self.queues)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Every change above is whole before anything could panic.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
