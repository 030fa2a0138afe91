//! Moves a journal record to the dead letters: sends `dead_letter.lua`.

use vestibule_domain::id::QueueId;

use super::{Line, keys::Keys, script::script};
use crate::{DeadLetterOutcome, LineError};

script!(DEAD_LETTER, "journal/dead_letter");

impl Line {
    /// Moves a journal record to the dead letters. The caller does this with a record that the
    /// backup keeps rejecting or that cannot be read.
    pub async fn dead_letter(&self, queue: &QueueId, key: &str) -> Result<DeadLetterOutcome, LineError> {
        let call = DEAD_LETTER.call_for_queue(&Keys::new(queue)).arg(key);
        let reply = call.arg(self.journal_limits.dead_letters).send(self).await?;
        match reply.outcome() {
            "dead-lettered" => Ok(DeadLetterOutcome::Moved),
            "gone" => Ok(DeadLetterOutcome::AlreadyHandled),
            "full" => Ok(DeadLetterOutcome::Full),
            _ => Err(reply.protocol_error("a known outcome")),
        }
    }
}
