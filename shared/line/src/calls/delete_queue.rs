//! Removes a deleted queue and keeps its tombstone: sends `delete_queue.lua`.

use vestibule_domain::{id::QueueId, tombstone::Tombstone};

use super::{Line, keys::Keys, script::script};
use crate::LineError;

script!(DELETE_QUEUE, "recovery/delete_queue");

impl Line {
    /// Removes a deleted queue: its entries, its configuration, and also changes that the backup may not have. The line
    /// keeps the tombstone as long as the backup does, so that a process with an older view of the queue cannot bring it
    /// back. Only a queue of a later epoch replaces the tombstone.
    ///
    /// Returns `false` and changes nothing if the line has the queue with the epoch of the tombstone or a later one, or
    /// a later tombstone: the queue was created again. The call is idempotent.
    pub async fn delete_queue(&self, queue: &QueueId, tombstone: &Tombstone) -> Result<bool, LineError> {
        let kept_ms = tombstone
            .delete_at_ms()
            .saturating_sub(vestibule_telemetry::clock::now_ms());
        let reply = DELETE_QUEUE
            .call_for_queue(&Keys::new(queue))
            .arg(tombstone.epoch)
            .arg(tombstone.generation)
            .arg(tombstone.deleted_at_ms)
            .arg(kept_ms.div_ceil(1_000).max(1))
            .send(self)
            .await?;
        match reply.outcome() {
            "deleted" => Ok(true),
            "later" => Ok(false),
            _ => Err(reply.protocol_error("a known outcome")),
        }
    }
}
