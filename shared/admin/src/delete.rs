//! The command `delete`: removes a queue for good.

use serde_json::Value;
use vestibule_backup::QueueLookup;
use vestibule_domain::id::QueueId;
use vestibule_engine::deletion::{complete_deletion, delete_queue};
use vestibule_wire::results::{DeletedQueue, to_value};

use super::{Admin, Problem, confirmation::Confirmation};

impl Admin {
    /// Deletes a queue. Repeated, the command completes a deletion that was cut off, which needs no confirmation, because
    /// there is nothing left to lose.
    pub(super) async fn delete(
        &self,
        queue: &QueueId,
        confirmation: Confirmation<'_>,
    ) -> Result<Value, Problem> {
        let (line, backup) = (&self.line, &*self.backup);
        let found = backup.look_up_queue(queue).await?;
        let is_stored = matches!(found, QueueLookup::Present(_));
        let tombstone = match found {
            QueueLookup::Present(stored) => {
                confirmation.verify("delete", stored.metadata.epoch)?;
                stored.require_no_later_layout()?;
                delete_queue(line, backup, queue, &stored.metadata)
                    .await?
                    .ok_or_else(Problem::epoch_changed)?
            }
            QueueLookup::Deleted(_) | QueueLookup::Absent => complete_deletion(line, backup, queue)
                .await?
                .ok_or_else(Problem::unknown_queue)?,
        };
        Ok(to_value(DeletedQueue {
            queue: queue.to_string(),
            deleted: is_stored,
            generation: tombstone.generation,
            min_epoch: tombstone.epoch,
            deleted_at_ms: tombstone.deleted_at_ms,
            tombstone_until_ms: tombstone.delete_at_ms(),
        }))
    }
}
