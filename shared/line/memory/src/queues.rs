//! The queues of one line.

use std::collections::HashMap;

use vestibule_domain::id::QueueId;

use super::{dropped_queue::DroppedQueue, queue::Queue};

/// All queues of a line: those that it serves, and those that it dropped.
#[derive(Default)]
pub(super) struct Queues {
    pub(super) live: HashMap<QueueId, Queue>,
    /// Queues that were dropped for a restore.
    pub(super) dropped: HashMap<QueueId, DroppedQueue>,
}

impl Queues {
    /// The epoch of the queue that the line has; 0 if it has none.
    pub(super) fn epoch(&self, queue: &QueueId) -> u32 {
        self.live.get(queue).map_or(0, |there| there.configuration.epoch)
    }

    /// Whether a caller with this epoch is outdated: the line has the queue with this epoch or a
    /// later one, or it dropped the queue for a later one.
    pub(super) fn is_outdated(&self, queue: &QueueId, epoch: u32) -> bool {
        let planned_epoch = self.dropped.get(queue).map_or(0, |lost| lost.epoch);
        self.epoch(queue) >= epoch || planned_epoch > epoch
    }
}
