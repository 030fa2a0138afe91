//! What the backup has of a queue.

use vestibule_domain::tombstone::Tombstone;

use super::stored_queue::StoredQueue;

/// What the backup has of a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueueLookup {
    /// The queue.
    Present(StoredQueue),
    /// The queue was deleted.
    Deleted(Tombstone),
    /// Nothing. The queue never existed, its tombstone has run out, or its items were deleted by hand.
    Absent,
}

impl QueueLookup {
    /// The queue, unless it was deleted or is absent.
    pub fn into_stored(self) -> Option<StoredQueue> {
        match self {
            Self::Present(stored) => Some(stored),
            Self::Deleted(_) | Self::Absent => None,
        }
    }
}
