//! What the promoter knows of the deleted queues.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;
use vestibule_domain::{id::QueueId, tombstone::Tombstone};

/// The time after which the promoter removes again from the line what it may have of a deleted queue. A process that was
/// frozen for long may have put it there, if the line has lost its tombstone.
const REPEAT_INTERVAL: Duration = Duration::from_mins(10);

/// What this process knows of the deletions.
#[derive(Debug, Default)]
pub(super) struct DeletedQueues(Mutex<Listing>);

#[derive(Debug, Default)]
struct Listing {
    /// The deleted queues of the last listing.
    listed: BTreeMap<QueueId, DeletedQueue>,
    /// The queues that this promoter has served and that are in the listing no more. A queue stays here until it is known
    /// whether it was deleted by hand.
    missing: BTreeSet<QueueId>,
}

#[derive(Debug, Clone, Copy)]
struct DeletedQueue {
    tombstone: Tombstone,
    /// When the line was last known to have nothing of the queue.
    removed_at: Option<Instant>,
}

impl DeletedQueue {
    fn is_due(&self) -> bool {
        self.removed_at.is_none_or(|at| at.elapsed() >= REPEAT_INTERVAL)
    }
}

impl DeletedQueues {
    /// Takes over a listing.
    pub(super) fn replace_listed(&self, listed: &[(QueueId, Tombstone)]) {
        let mut state = self.lock();
        let before = std::mem::take(&mut state.listed);
        for (queue, tombstone) in listed {
            let known = before.get(queue).filter(|known| known.tombstone == *tombstone);
            let removed_at = known.and_then(|known| known.removed_at);
            let deleted = DeletedQueue {
                tombstone: *tombstone,
                removed_at,
            };
            state.listed.insert(queue.clone(), deleted);
        }
    }

    /// Notes that the backup does not have a queue that this promoter has served.
    pub(super) fn add_missing(&self, queue: QueueId) {
        self.lock().missing.insert(queue);
    }

    /// The queues to remove from the line now.
    pub(super) fn find_due(&self) -> Vec<QueueId> {
        let state = self.lock();
        let listed = state.listed.iter().filter(|(_, deleted)| deleted.is_due());
        let due: BTreeSet<_> = listed.map(|(queue, _)| queue).chain(&state.missing).collect();
        due.into_iter().cloned().collect()
    }

    pub(super) fn tombstone(&self, queue: &QueueId) -> Option<Tombstone> {
        Some(self.lock().listed.get(queue)?.tombstone)
    }

    /// Notes that the line has nothing of the queue, or that the queue was not deleted.
    pub(super) fn record_outcome(&self, queue: &QueueId) {
        let mut state = self.lock();
        state.missing.remove(queue);
        if let Some(deleted) = state.listed.get_mut(queue) {
            deleted.removed_at = Some(Instant::now());
        }
    }

    fn lock(&self) -> MutexGuard<'_, Listing> {
        // Every change under the lock is complete before anything could panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
