//! Runs fallback ticks: visitors' requests tick a queue while its promoter is down.
//!
//! Every request has a snapshot of the queue anyway, and the snapshot shows whether the promoter is
//! down. While the promoter is up, requests ask the line for nothing more. While it is down, one
//! request in flight per process ticks its queue every second. A held poll does so until its answer
//! is due, and then another request takes over. A tick finishes before the answer is sent, because
//! Lambda freezes a function after its answer.

use std::{
    future::Future,
    sync::{Arc, PoisonError},
    time::Duration,
};

use tokio::{
    join,
    sync::{OwnedMutexGuard, oneshot},
    time::{Instant, sleep, timeout},
};
use tracing::{debug, warn};
use vestibule_domain::{fallback_tick::fallback_tick_due_in_ms, id::QueueId};
use vestibule_engine::fallback_tick::{FallbackTickOutcome, fallback_tick};

use super::{Entries, TickLock};
use crate::queue::QueueSnapshot;

/// A fallback tick delays an answer by at most this time.
const TICK_TIMEOUT: Duration = Duration::from_millis(800);
/// A fallback tick takes no more records from the journal after this time.
const FLUSH_TIME: Duration = Duration::from_millis(400);
/// How many queues are remembered. A process serves few queues.
const QUEUES_MAX: usize = 1_000;

type TickGuard = OwnedMutexGuard<Option<Instant>>;

impl Entries {
    /// Does the work of a request, and runs fallback ticks beside it while the promoter is down.
    pub(crate) async fn with_fallback_tick<T>(&self, queue: &QueueId, work: impl Future<Output = T>) -> T {
        let (is_answered, answered) = oneshot::channel::<()>();
        let work = async move {
            let answer = work.await;
            drop(is_answered);
            answer
        };
        // The work is polled first. So the tick loop sees the answer at once and needs no further
        // wake-up.
        let (answer, ()) = join!(biased; work, self.run_fallback_ticks(queue, answered));
        answer
    }

    /// Runs each fallback tick when it is due. Once the request is answered, this starts no further
    /// tick.
    async fn run_fallback_ticks(&self, queue: &QueueId, mut answered: oneshot::Receiver<()>) {
        let mut guard = None;
        loop {
            let due = tokio::select! {
                biased;
                // This branch is polled first, because a request that is answered at once must
                // still tick.
                due = self.wait_until_due(queue, &mut guard) => due,
                _ = &mut answered => None,
            };
            let Some(snapshot) = due else { return };
            self.fallback_tick_once(&snapshot).await;
        }
    }

    /// Waits until this request may tick the queue and a tick is due. Returns `None` if there is no
    /// snapshot of the queue.
    async fn wait_until_due(
        &self,
        queue: &QueueId,
        guard: &mut Option<TickGuard>,
    ) -> Option<Arc<QueueSnapshot>> {
        loop {
            let snapshot = self.queues.get(queue).await.ok()?;
            if guard.is_none() {
                *guard = self.tick_lock(queue).try_lock_owned().ok();
            }
            let Some(last_tick) = guard else {
                *guard = Some(self.tick_lock(queue).lock_owned().await);
                // Waiting for the lock may have taken long, so the snapshot is read again.
                continue;
            };
            let now = Instant::now();
            let last_tick_age_ms = last_tick.map(|last_tick| {
                let passed = now.duration_since(last_tick);
                u64::try_from(passed.as_millis()).unwrap_or(u64::MAX)
            });
            match fallback_tick_due_in_ms(snapshot.view.is_promoter_down(), last_tick_age_ms) {
                0 => {
                    **last_tick = Some(now);
                    return Some(snapshot);
                }
                later_ms => sleep(Duration::from_millis(later_ms)).await,
            }
        }
    }

    /// The lock of the request that ticks a queue.
    fn tick_lock(&self, queue: &QueueId) -> TickLock {
        // A panic elsewhere leaves the map intact, so the content of a poisoned lock is still valid.
        let mut locks = self.tick_locks.lock().unwrap_or_else(PoisonError::into_inner);
        if locks.len() >= QUEUES_MAX {
            // A queue that is being ticked stays. The others lose only the time of their last tick,
            // which the line knows too.
            locks.retain(|_, lock| Arc::strong_count(lock) > 1);
        }
        locks.entry(queue.clone()).or_default().clone()
    }

    async fn fallback_tick_once(&self, snapshot: &QueueSnapshot) {
        let (queue, partition, pace) = (&snapshot.queue, snapshot.partition(), snapshot.settings().pace());
        let until = Instant::now() + FLUSH_TIME;
        let tick = fallback_tick(
            &self.line,
            &*self.backup,
            &partition,
            pace,
            self.queues.tick_history(),
            until,
        );
        match timeout(TICK_TIMEOUT, tick).await {
            Ok(Ok(FallbackTickOutcome::LineNotCurrent)) => warn!(
                event = "line.fallback_tick_skipped",
                %queue,
                "skipped a fallback tick because the line lost the queue or holds stale data, or the \
                 backup has no such queue; run restore if the promoter stays down"
            ),
            Ok(Ok(outcome)) => debug!(
                event = "line.fallback_tick_finished",
                %queue,
                driven = ?outcome,
                "finished a fallback tick"
            ),
            Ok(Err(error)) => warn!(
                event = "line.fallback_tick_failed",
                %queue,
                %error,
                "could not run or finish a fallback tick; the next one is due in about a second"
            ),
            Err(_) => warn!(
                event = "line.fallback_tick_cancelled",
                %queue,
                "cancelled a fallback tick at its time limit; the next one flushes what is left in the \
                 journal"
            ),
        }
    }
}
