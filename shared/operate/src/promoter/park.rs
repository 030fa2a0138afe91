//! Parks the promoter: ends a run early when there is nothing to do.

use std::time::Duration;

use tokio::time::timeout;
use tracing::info;

use super::{queue_steps::TICK_TIMEOUT, run::Promoter};

/// A promoter that may park does so after every queue has been empty for this long.
const PARK_AFTER_EMPTY: Duration = Duration::from_secs(10);

impl Promoter {
    /// Clears the heartbeats of all queues and returns `true`, if there is nothing to do. Otherwise
    /// it returns `false`, and the run goes on. The line checks atomically, in the same step that
    /// clears the heartbeat, that the queue is still empty. A visitor who enters afterwards
    /// therefore finds no heartbeat, and the request runs a fallback tick.
    pub(super) async fn park_idle_promoter(&self) -> bool {
        // A consistency check must finish, and a running tick would write the heartbeat again.
        if !self.registry.has_been_empty_for(PARK_AFTER_EMPTY) || !self.steps.is_idle() {
            return false;
        }
        for queue in self.registry.queues() {
            let rests = timeout(TICK_TIMEOUT, self.line.park_idle_promoter(&queue)).await;
            if !matches!(rests, Ok(Ok(true))) {
                return false;
            }
        }
        info!(
            event = "promoter.parked",
            "parked the promoter because every queue is empty; requests run fallback ticks until the next run"
        );
        true
    }
}
