//! The queues of one line.

use std::collections::HashMap;

use vestibule_domain::{id::QueueId, tombstone::Tombstone};

use super::{dropped_queue::DroppedQueue, queue::Queue};

/// All queues of a line: those that it serves, those that it dropped, and those that were deleted.
#[derive(Default)]
pub(super) struct Queues {
    pub(super) live: HashMap<QueueId, Queue>,
    /// Queues that were dropped for a restore.
    pub(super) dropped: HashMap<QueueId, DroppedQueue>,
    /// The tombstones of deleted queues. They end with the process, as all that its line has.
    pub(super) tombstones: HashMap<QueueId, Tombstone>,
}

impl Queues {
    /// The epoch of the queue that the line has; 0 if it has none.
    pub(super) fn epoch(&self, queue: &QueueId) -> u32 {
        self.live.get(queue).map_or(0, |there| there.configuration.epoch)
    }

    /// Whether a caller with this epoch is outdated: the line has the queue with this epoch or a
    /// later one, or it dropped the queue for a later one, or the queue was deleted since.
    pub(super) fn is_outdated(&self, queue: &QueueId, epoch: u32) -> bool {
        let planned_epoch = self.dropped.get(queue).map_or(0, |lost| lost.epoch);
        self.epoch(queue) >= epoch || planned_epoch > epoch || self.is_deleted_since(queue, epoch)
    }

    /// Whether a queue of this epoch was deleted.
    pub(super) fn is_deleted_since(&self, queue: &QueueId, epoch: u32) -> bool {
        self.tombstones
            .get(queue)
            .is_some_and(|tombstone| tombstone.epoch >= epoch)
    }
}
