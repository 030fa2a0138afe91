//! When the tally of each queue is stored.

use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::time::Instant;
use vestibule_domain::id::QueueId;
use vestibule_engine::tally::STORE_INTERVAL;

/// When this promoter last asked the line for the tally of each queue.
#[derive(Default)]
pub(super) struct TallySchedule {
    asked_at: Mutex<HashMap<QueueId, Instant>>,
}

impl TallySchedule {
    /// Whether it is time to ask for the tally of a queue. Counts as asking. The line decides whether the tally is stored,
    /// because other promoters ask too.
    pub(super) fn take_ask_turn(&self, queue: &QueueId) -> bool {
        let now = Instant::now();
        let mut asked_at = self.lock();
        let is_due = asked_at
            .get(queue)
            .is_none_or(|at| now.duration_since(*at) >= STORE_INTERVAL);
        if is_due {
            asked_at.insert(queue.clone(), now);
        }
        is_due
    }

    /// Drops the state of queues that the listing lacks.
    pub(super) fn retain_queues(&self, queues: &HashSet<QueueId>) {
        self.lock().retain(|queue, _| queues.contains(queue));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<QueueId, Instant>> {
        // No code panics halfway through a change of the map, so it is consistent even if the lock is poisoned.
        self.asked_at.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
