//! The calls of entries to protected APIs.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use vestibule_domain::{
    call_limit::CallLimit,
    id::{EntryId, QueueId},
};
use vestibule_line::CallOutcome;

/// How many entries there are at least before those that may be forgotten are removed.
const ENTRIES_BEFORE_REMOVAL: usize = 1_000;

/// The theoretical arrival time of the next call of each entry, in Unix microseconds: see
/// [`CallLimit`].
#[derive(Clone, Default)]
pub(super) struct CallCounts(Arc<Mutex<HashMap<(QueueId, EntryId), u64>>>);

impl CallCounts {
    /// Uses the server's clock without an offset: a limit compares only times of that clock.
    pub(super) fn take_call(
        &self,
        now_us: u64,
        queue: &QueueId,
        id: EntryId,
        limit: CallLimit,
    ) -> CallOutcome {
        // No code panics while it holds this lock, so the map in a poisoned lock is still intact.
        let mut arrivals = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // The capacity doubles when the map is full, so the cost of removing does not grow with the calls.
        if arrivals.len() >= ENTRIES_BEFORE_REMOVAL && arrivals.len() == arrivals.capacity() {
            arrivals.retain(|_, arrival_us| *arrival_us > now_us);
        }
        let key = (queue.clone(), id);
        let decision = limit.decide(arrivals.get(&key).copied(), now_us);
        arrivals.insert(key, decision.arrival_us);
        CallOutcome::from_wait_us(decision.wait_us)
    }
}
