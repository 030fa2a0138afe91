//! The deletion of a queue, and what the line has of a queue that it does not serve.

use vestibule_domain::{id::QueueId, tombstone::Tombstone};
use vestibule_line::QueueTrace;

use super::memory_line::MemoryLine;

impl MemoryLine {
    /// Removes a queue and keeps its tombstone. Returns `false` if the line has a later queue or tombstone.
    pub(super) fn delete_and_bury(&self, queue: &QueueId, tombstone: Tombstone) -> bool {
        let mut queues = self.lock();
        let restored_epoch = queues.dropped.get(queue).map_or(0, |dropped| dropped.epoch);
        let buried_epoch = queues.tombstones.get(queue).map_or(0, |buried| buried.epoch);
        if queues.epoch(queue).max(restored_epoch) >= tombstone.epoch || buried_epoch > tombstone.epoch {
            return false;
        }
        queues.live.remove(queue);
        queues.dropped.remove(queue);
        queues.tombstones.insert(queue.clone(), tombstone);
        true
    }

    pub(super) fn trace(&self, queue: &QueueId) -> QueueTrace {
        let queues = self.lock();
        let live = queues.live.get(queue);
        let live = live.map(|live| (live.configuration.epoch, Some(live.configuration.generation)));
        let dropped = queues.dropped.get(queue);
        let dropped = dropped.map(|dropped| (dropped.epoch, dropped.generation));
        match live.or(dropped) {
            Some((epoch, Some(generation))) => QueueTrace::Queue {
                epoch,
                generation,
                is_own: live.is_some(),
            },
            // The queue was lost before a restore began, so its generation is not known.
            _ => queues
                .tombstones
                .get(queue)
                .map_or(QueueTrace::None, |tombstone| QueueTrace::Deleted(*tombstone)),
        }
    }
}
