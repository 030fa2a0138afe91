//! What an operator needs to remove many waiting entries at once.

use async_trait::async_trait;
use vestibule_domain::id::{EntryId, QueueId};

use super::{EvictOrder, LineError, QueueLine, WaitingPresence};

/// The presence of many waiting entries, and their eviction.
#[async_trait]
pub trait EvictionLine: QueueLine {
    /// Returns the presence of many waiting entries, in the order of `ids`; `None` for an entry that does not wait.
    /// One query covers up to [`EVICT_CHUNK`](crate::EVICT_CHUNK) entries. Changes nothing.
    async fn presence_many(
        &self,
        queue: &QueueId,
        ids: &[EntryId],
    ) -> Result<Vec<Option<WaitingPresence>>, LineError>;

    /// Evicts those of the given visits that still wait, and returns how many. They are one record of the journal, so
    /// the call is atomic, and a second one evicts none of them again.
    ///
    /// # Errors
    /// [`LineError::JournalFull`] if the journal has no room; then nothing changed.
    async fn evict_waiting(&self, queue: &QueueId, order: &EvictOrder) -> Result<u64, LineError>;
}
