//! What the registry knows of the promoter's steps for each queue, for the log and for the events of the queue.

use tracing::{info, warn};
use vestibule_domain::{id::QueueId, queue_event::QueueHealth};

use super::{queue_registry::QueueRegistry, step_outcomes::StepError};

impl QueueRegistry {
    /// How the steps for a queue go, by their names; `None` for a queue that the registry lacks.
    pub(super) fn health(&self, queue: &QueueId) -> Option<QueueHealth> {
        let registered = self.lock();
        let entry = registered.get(queue)?;
        Some(entry.outcomes.health(entry.parked.is_some()))
    }

    /// Whether the last tick of this run succeeded, so that the line has the queue and is as recent as the fence.
    pub(super) fn has_ticked(&self, queue: &QueueId) -> bool {
        self.lock()
            .get(queue)
            .is_some_and(|entry| entry.outcomes.has_ticked)
    }

    /// Logs the problem of a step when it is new or has changed, and logs the recovery when the
    /// step succeeds again. That the line lacks the queue is the sync's to log, which finds out why.
    pub(super) fn log_step_outcome(
        &self,
        queue: &QueueId,
        step: &'static str,
        outcome: Result<(), StepError>,
    ) {
        let mut registered = self.lock();
        let Some(entry) = registered.get_mut(queue) else {
            return;
        };
        match outcome {
            Err(StepError::QueueMissing) => entry.outcomes.record_missing_queue(step),
            Err(StepError::Failed(problem)) => {
                if entry.outcomes.record_problem(step, problem.clone()) {
                    warn!(
                        event = "queue.step_failed",
                        %queue,
                        step,
                        %problem,
                        "a promoter step failed for the queue; the log shows the same problem only once"
                    );
                }
            }
            Ok(()) => {
                if entry.outcomes.record_success(step) {
                    info!(
                        event = "queue.step_recovered",
                        %queue,
                        step,
                        "a promoter step that had failed for the queue succeeded"
                    );
                }
            }
        }
    }
}
