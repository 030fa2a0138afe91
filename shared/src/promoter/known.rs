//! What the promoter knows of the queues, and what it has said of them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;
use tracing::{info, warn};

use super::sync::Put;
use crate::{backup::Shelf, domain::id::QueueId};

/// The queues as of the last listing.
#[derive(Debug, Default)]
pub(super) struct Known(Mutex<BTreeMap<QueueId, Queue>>);

#[derive(Debug, Default)]
struct Queue {
    /// Unknown until it was synced once.
    shelf: Option<Shelf>,
    /// When what was set aside was last tried again.
    retried_at: Option<Instant>,
    /// What is wrong, by the step that found it: said once, not every second.
    troubles: BTreeMap<&'static str, String>,
    /// What was in force at the last sync.
    put: Option<Put>,
    /// Whether the line may have come back as it was some time ago, since it did not answer.
    doubted: bool,
}

impl Known {
    /// Takes a listing over: new queues come, those that are not in it go.
    pub(super) fn listed(&self, queues: Vec<QueueId>) {
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
        known.doubted = false;
    }

    /// What the line of a queue must show that may have been lost since it answered last, as of the last sync; `None`
    /// where there is no doubt.
    pub(super) fn doubt(&self, queue: &QueueId) -> Option<Put> {
        let known = self.lock();
        let queue = known.get(queue)?;
        queue.put.filter(|_| queue.doubted)
    }

    pub(super) fn set_doubt(&self, queue: &QueueId, doubted: bool) {
        if let Some(queue) = self.lock().get_mut(queue) {
            queue.doubted = doubted;
        }
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

    pub(super) fn gone(&self, queue: &QueueId) {
        self.lock().remove(queue);
    }

    /// Logs what a step ran into when it is new, and that it is over when it is.
    pub(super) fn note(&self, queue: &QueueId, step: &'static str, outcome: Result<(), String>) {
        let mut known = self.lock();
        let Some(entry) = known.get_mut(queue) else { return };
        match outcome {
            Err(trouble) if entry.troubles.get(step) != Some(&trouble) => {
                warn!(%queue, step, %trouble, "a queue is in trouble");
                entry.troubles.insert(step, trouble);
            }
            Ok(()) if entry.troubles.remove(step).is_some() => info!(%queue, step, "the trouble is over"),
            Ok(()) | Err(_) => {}
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<QueueId, Queue>> {
        // Every change above is whole before anything could panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
