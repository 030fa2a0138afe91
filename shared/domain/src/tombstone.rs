//! The tombstone of a deleted queue: what stays of it, so that nothing brings it back.
//!
//! The next queue of the same name begins above the tombstone, in a generation of its own. So no entry, token or
//! pass of the deleted queue means anything in it.

use super::record::LIVE_RETAIN_MS;

/// How long a tombstone is kept, in milliseconds. It outlives every record of an entry: those of live entries
/// are kept for [`LIVE_RETAIN_MS`], those of ended ones for `retain_hours`, which is 30 days at most. DynamoDB may take
/// days to delete what has run out.
pub const TOMBSTONE_RETAIN_MS: u64 = 90 * 24 * 3_600_000;
const _: () = assert!(TOMBSTONE_RETAIN_MS >= 2 * LIVE_RETAIN_MS);

/// By how much the epoch rises if the items of a queue were deleted by hand. The line may not know the last epochs
/// of the queue: each attempt at a restore raised it in the deleted item.
const UNKNOWN_EPOCHS_MAX: u32 = 1_000;

/// What stays of a deleted queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tombstone {
    /// An epoch above all epochs of the queue. Passes of an earlier epoch are void.
    pub epoch: u32,
    /// The last generation of the queue.
    pub generation: u32,
    /// When the queue was deleted, in Unix milliseconds.
    pub deleted_at_ms: u64,
}

impl Tombstone {
    /// The tombstone of a queue whose last epoch and generation are known.
    pub fn new(epoch: u32, generation: u32, deleted_at_ms: u64) -> Self {
        Self {
            epoch: epoch.saturating_add(1),
            generation,
            deleted_at_ms,
        }
    }

    /// The tombstone of a queue whose stored items were deleted by hand. The line knew it with this epoch and generation.
    pub fn of_items_deleted_by_hand(epoch: u32, generation: u32, deleted_at_ms: u64) -> Self {
        Self::new(
            epoch.saturating_add(UNKNOWN_EPOCHS_MAX),
            generation,
            deleted_at_ms,
        )
    }

    /// When the tombstone may be deleted, in Unix milliseconds.
    pub fn delete_at_ms(&self) -> u64 {
        self.deleted_at_ms.saturating_add(TOMBSTONE_RETAIN_MS)
    }
}
