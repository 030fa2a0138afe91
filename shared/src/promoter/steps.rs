//! The steps under way: none twice at once, and only so many of a kind.

use std::{
    collections::HashSet,
    future::Future,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::Semaphore, task::JoinSet, time::timeout};
use tracing::{Instrument, debug, warn};

use crate::domain::id::QueueId;

/// How many steps of a kind go at once.
const AT_ONCE: usize = 16;
/// How many queues are checked at once: each reads all that there is of one.
const CHECKS_AT_ONCE: usize = 2;

/// One thing to do; it is never done twice at once.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Step {
    /// Read which queues there are, and sync each.
    List,
    /// Put the stored settings of a queue in force.
    Sync(QueueId),
    /// Promote.
    Tick(QueueId),
    /// Take the journal to the backup.
    Drain(QueueId),
    /// Write the metrics.
    Report(QueueId),
    /// Compare the line with the backup.
    Check(QueueId),
}

/// The steps under way. Ticks are counted apart from those that ask the backup: one that is slow or hangs must not keep
/// anybody from being promoted.
pub(super) struct Steps {
    busy: Arc<Mutex<HashSet<Step>>>,
    tasks: Mutex<JoinSet<()>>,
    pub(super) ticks: Semaphore,
    pub(super) syncs: Semaphore,
    pub(super) drains: Semaphore,
    pub(super) checks: Semaphore,
}

impl Default for Steps {
    fn default() -> Self {
        Self {
            busy: Arc::default(),
            tasks: Mutex::default(),
            ticks: Semaphore::new(AT_ONCE),
            syncs: Semaphore::new(AT_ONCE),
            drains: Semaphore::new(AT_ONCE),
            checks: Semaphore::new(CHECKS_AT_ONCE),
        }
    }
}

impl Steps {
    /// Starts a step, unless it is still under way.
    pub(super) fn start(&self, step: Step, work: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = lock(&self.tasks);
        while tasks.try_join_next().is_some() {}
        if !lock(&self.busy).insert(step.clone()) {
            debug!(
                event = "promoter.step_skipped",
                ?step,
                "skipped a step because the same step is still running"
            );
            return;
        }
        let done = Done {
            busy: Arc::clone(&self.busy),
            step,
        };
        let work = async move {
            work.await;
            drop(done);
        };
        tasks.spawn(work.in_current_span());
    }

    /// Whether none is under way.
    pub(super) fn is_idle(&self) -> bool {
        lock(&self.busy).is_empty()
    }

    /// Waits for the steps under way, and for those that they start, and gives up those that take too long.
    pub(super) async fn finish(&self, within: Duration) {
        let mut under_way = JoinSet::new();
        let all = async {
            loop {
                under_way = std::mem::take(&mut *lock(&self.tasks));
                if under_way.is_empty() {
                    break;
                }
                while under_way.join_next().await.is_some() {}
            }
        };
        if timeout(within, all).await.is_err() {
            warn!(
                event = "promoter.steps_aborted",
                "aborted the steps that were still running at the end of the run; the next run repeats them"
            );
        }
        while !under_way.is_empty() {
            under_way.shutdown().await;
            // One of them may have started others.
            under_way = std::mem::take(&mut *lock(&self.tasks));
        }
    }
}

/// Marks a step as over, also when its task is dropped.
struct Done {
    busy: Arc<Mutex<HashSet<Step>>>,
    step: Step,
}

impl Drop for Done {
    fn drop(&mut self) {
        lock(&self.busy).remove(&self.step);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Sets alone: whole before anything could panic.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
