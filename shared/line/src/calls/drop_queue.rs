//! Drops a queue that is to be restored with a later epoch: sends `drop_queue.lua`.

use vestibule_domain::id::QueueId;

use super::{Line, keys::Keys, script::script};
use crate::LineError;

script!(DROP_QUEUE, "recovery/drop_queue");

impl Line {
    /// Drops a queue before its restore with this epoch. From then on the line does not have the
    /// queue. The line keeps the changes that the backup may not have yet: see
    /// [`unflushed`](Self::unflushed).
    ///
    /// Returns `false` and changes nothing if the queue has this epoch or a later one, or was
    /// dropped for a later one.
    pub async fn drop_queue(&self, queue: &QueueId, epoch: u32) -> Result<bool, LineError> {
        let reply = DROP_QUEUE
            .call_for_queue(&Keys::new(queue))
            .arg(epoch)
            .send(self)
            .await?;
        match reply.outcome() {
            "dropped" => Ok(true),
            "later" => Ok(false),
            _ => Err(reply.protocol_error("a known outcome")),
        }
    }
}
