//! The end of a run that has nothing to do.

use std::time::Duration;

use tokio::time::timeout;
use tracing::info;

use super::run::{Promoter, TICK_TIMEOUT};

/// A promoter that may rest does so when nobody has been in any queue for so long.
const EMPTY_FOR: Duration = Duration::from_secs(10);

impl Promoter {
    /// Takes the heartbeats back where there is nothing to do; `false` where there is, and the run goes on. The line looks
    /// once more in the same step: whoever enters after it finds no promoter, and drives.
    pub(super) async fn rest(&self) -> bool {
        // A check is to be brought to its end, and a tick under way would beat again.
        if !self.known.is_empty_for(EMPTY_FOR) || !self.steps.is_idle() {
            return false;
        }
        for queue in self.known.queues() {
            let rests = timeout(TICK_TIMEOUT, self.line.rest(&queue)).await;
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
