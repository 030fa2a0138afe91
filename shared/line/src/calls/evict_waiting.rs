//! Evicts many waiting entries: sends `evict_waiting.lua`.

use vestibule_domain::id::QueueId;

use super::{Line, script::script};
use crate::{EVICT_CHUNK, EvictOrder, LineError};

script!(EVICT_WAITING, "operator/evict_waiting");

impl Line {
    /// Evicts those of the given visits that still wait, and returns how many. They are one record of the journal, so
    /// the call is atomic, and a second one evicts none of them again.
    ///
    /// # Errors
    /// [`LineError::JournalFull`] if the journal has no room; then nothing changed.
    pub async fn evict_waiting(&self, queue: &QueueId, order: &EvictOrder) -> Result<u64, LineError> {
        debug_assert!(
            order.visits.len() <= EVICT_CHUNK,
            "the script unpacks all entries"
        );
        let pairs = order
            .visits
            .iter()
            .flat_map(|(id, visit)| [id.to_member(), visit.number().to_string()]);
        let call = self
            .begin_call(&EVICT_WAITING, queue)
            .arg(self.journal_limits.all_changes)
            .arg(u8::from(order.spares_checked_in))
            .args(pairs);
        let mut reply = call.send(self).await?;
        match reply.outcome() {
            "evicted" => reply.read_number(),
            "journal-full" => Err(LineError::JournalFull),
            _ => Err(reply.protocol_error("a known outcome")),
        }
    }
}
