//! What the line has of a queue that the backup may not have.

use vestibule_domain::tombstone::Tombstone;

/// What the line has of a queue, whether it serves the queue or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueTrace {
    /// Nothing.
    None,
    /// The queue, or what is left of it before a restore.
    Queue {
        /// The latest epoch that the line has seen.
        epoch: u32,
        /// The generation.
        generation: u32,
        /// Whether a process with the backup of this one configured the queue, which the line then serves. Several
        /// deployments may have one Redis.
        is_own: bool,
    },
    /// The queue was deleted.
    Deleted(Tombstone),
}
