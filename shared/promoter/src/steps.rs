//! The steps that are running. A step never runs twice at the same time, and each kind of step has
//! a limit of concurrency.

use std::{
    collections::HashSet,
    future::Future,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::Semaphore, task::JoinSet, time::timeout};
use tracing::{Instrument, debug, warn};
use vestibule_domain::id::QueueId;

/// How many steps of one kind run at the same time.
pub(super) const STEPS_PER_KIND_MAX: usize = 16;
/// How many consistency checks run at the same time. The limit is low because a check reads all
/// data of a queue.
const CHECKS_MAX: usize = 2;

/// One unit of work. The same step never runs twice at the same time (single-flight).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum PromoterStep {
    /// Lists the queues and starts a sync for each that may need one.
    List,
    /// Looks for parked queues that are not idle any more.
    Watch,
    /// Applies the stored settings of a queue to its line.
    Sync(QueueId),
    /// Removes a deleted queue from the line.
    Delete(QueueId),
    /// Promotes entries.
    Tick(QueueId),
    /// Flushes the journal to the backup.
    Flush(QueueId),
    /// Writes the metrics.
    Report(QueueId),
    /// Stores the tally in the backup.
    StoreTally(QueueId),
    /// Compares the line with the backup and repairs differences.
    Check(QueueId),
    /// Tells the event bus what has changed.
    Announce(QueueId),
}

/// The steps that are running, and the semaphores that limit them. Ticks have their own semaphore:
/// steps that call a slow or unresponsive backup must not take the permits that promotion needs.
pub(super) struct StepRunner {
    busy: Arc<Mutex<HashSet<PromoterStep>>>,
    tasks: Mutex<JoinSet<()>>,
    pub(super) ticks: Semaphore,
    pub(super) syncs: Semaphore,
    pub(super) flushes: Semaphore,
    pub(super) checks: Semaphore,
}

impl Default for StepRunner {
    fn default() -> Self {
        Self {
            busy: Arc::default(),
            tasks: Mutex::default(),
            ticks: Semaphore::new(STEPS_PER_KIND_MAX),
            syncs: Semaphore::new(STEPS_PER_KIND_MAX),
            flushes: Semaphore::new(STEPS_PER_KIND_MAX),
            checks: Semaphore::new(CHECKS_MAX),
        }
    }
}

impl StepRunner {
    /// Starts a step, unless the same step is still running.
    pub(super) fn start(&self, step: PromoterStep, work: impl Future<Output = ()> + Send + 'static) {
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
        let done = RunningStepGuard {
            busy: Arc::clone(&self.busy),
            step,
        };
        let work = async move {
            work.await;
            drop(done);
        };
        tasks.spawn(work.in_current_span());
    }

    /// Whether no step is running.
    pub(super) fn is_idle(&self) -> bool {
        lock(&self.busy).is_empty()
    }

    /// Waits for the running steps and for the steps that they start. Aborts the steps that are
    /// still running after `within`.
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
            // An aborted step may have started others, which the loop aborts too.
            under_way = std::mem::take(&mut *lock(&self.tasks));
        }
    }
}

/// Marks a step as finished when it is dropped, also when the step's task is aborted.
struct RunningStepGuard {
    busy: Arc<Mutex<HashSet<PromoterStep>>>,
    step: PromoterStep,
}

impl Drop for RunningStepGuard {
    fn drop(&mut self) {
        lock(&self.busy).remove(&self.step);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // The mutexes hold only collections, which are consistent even if a holder of the lock panicked.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
