//! A queue that was dropped for a restore: its unflushed changes.

use super::{ended_entries::EndedEntries, journal::Journal, queue::Queue};

/// The unflushed changes of a dropped queue.
#[derive(Debug, Default)]
pub(super) struct DroppedQueue {
    /// The epoch of the planned restore. A restore with an earlier epoch is outdated and changes
    /// nothing.
    pub(super) epoch: u32,
    pub(super) generation: Option<u32>,
    pub(super) journal: Journal,
    pub(super) ended: EndedEntries,
}

impl DroppedQueue {
    pub(super) fn from_queue(queue: Queue) -> Self {
        Self {
            epoch: 0,
            generation: Some(queue.configuration.generation),
            journal: queue.journal,
            ended: queue.ended,
        }
    }
}
