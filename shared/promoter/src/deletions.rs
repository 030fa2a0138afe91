//! Deletions: the promoter completes each that was cut off, and notices queues whose items were deleted from the table by
//! hand.

use std::{collections::BTreeSet, sync::Arc};

use tokio::time::timeout;
use tracing::{debug, warn};
use vestibule_backup::QueueListing;
use vestibule_domain::id::QueueId;
use vestibule_engine::deletion::{DeletionError, complete_deletion};

use super::{queue_steps::TICK_TIMEOUT, run::Promoter, steps::PromoterStep};

impl Promoter {
    /// Starts a step for each queue that is to be removed from the line.
    pub(super) fn start_deletions(self: &Arc<Self>, listing: &QueueListing) {
        let listed: BTreeSet<_> = listing.queues.iter().map(|(queue, _)| queue).collect();
        for queue in self.registry.queues() {
            if !listed.contains(&queue) {
                self.deleted_queues.add_missing(queue);
            }
        }
        self.deleted_queues.replace_listed(&listing.deleted);
        for queue in self.deleted_queues.find_due() {
            self.start_step(PromoterStep::Delete(queue));
        }
    }

    /// Removes a deleted queue from the line. After a failure, the next listing starts the step again.
    pub(super) async fn delete_queue(&self, queue: &QueueId) {
        let _permit = self.steps.syncs.acquire().await;
        let problem = match timeout(TICK_TIMEOUT, self.complete_deletion(queue)).await {
            Ok(Ok(())) => return self.deleted_queues.record_outcome(queue),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "the step took too long, so the promoter aborted it".to_owned(),
        };
        warn!(
            event = "queue.deletion_failed", %queue, %problem,
            "could not remove a deleted queue from the line; the promoter tries again in a few seconds"
        );
    }

    async fn complete_deletion(&self, queue: &QueueId) -> Result<(), DeletionError> {
        let is_removed = match self.deleted_queues.tombstone(queue) {
            Some(tombstone) => self.line.delete_queue(queue, &tombstone).await?,
            None => complete_deletion(&self.line, &*self.backup, queue)
                .await?
                .is_some(),
        };
        if is_removed {
            debug!(event = "queue.deleted", %queue, "the line has nothing of the deleted queue");
        }
        Ok(())
    }
}
