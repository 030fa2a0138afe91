//! When the promoter may send events again after the bus failed. All queues share it: a bus that fails for one queue fails
//! for the others.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;
use tracing::{info, warn};

/// The pause after the first failure. Each further one doubles it.
const PAUSE_FIRST: Duration = Duration::from_secs(2);
/// The longest pause.
const PAUSE_MAX: Duration = Duration::from_mins(1);

/// The pauses between attempts.
#[derive(Debug, Default)]
pub(super) struct SendBackoff(Mutex<Pause>);

#[derive(Debug, Default)]
struct Pause {
    failures: u32,
    not_before: Option<Instant>,
}

impl SendBackoff {
    /// Ends the pause, because the function may have been frozen in it.
    pub(super) fn begin_run(&self) {
        self.lock().not_before = None;
    }

    pub(super) fn may_send(&self) -> bool {
        self.lock().not_before.is_none_or(|at| Instant::now() >= at)
    }

    pub(super) fn record_success(&self) {
        let before = std::mem::take(&mut *self.lock());
        if before.failures > 0 {
            info!(
                event = "queue.event_sending_recovered",
                "the event bus accepts events again"
            );
        }
    }

    /// Begins a pause, unless another queue has begun one. The log shows the first failure only.
    pub(super) fn record_failure(&self, problem: &str) {
        let mut state = self.lock();
        let now = Instant::now();
        if state.not_before.is_some_and(|at| now < at) {
            return;
        }
        let pause = PAUSE_FIRST
            .saturating_mul(1 << state.failures.min(5))
            .min(PAUSE_MAX);
        state.not_before = Some(now + pause);
        state.failures = state.failures.saturating_add(1);
        if state.failures == 1 {
            warn!(
                event = "queue.event_sending_failed",
                problem,
                "the event bus did not accept events; they wait in the backup, and the promoter sends them again"
            );
        }
    }

    fn lock(&self) -> MutexGuard<'_, Pause> {
        // Every change under the lock is complete before anything could panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
