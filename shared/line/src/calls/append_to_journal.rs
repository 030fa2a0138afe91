//! Appends a change that the backup did not take to the journal: sends `append_to_journal.lua`.

use vestibule_domain::{change::Change, id::QueueId};

use super::{Line, journal_encoding::encode_change, keys::Keys, script::script};
use crate::LineError;

script!(APPEND_TO_JOURNAL, "journal/append_to_journal");

impl Line {
    /// Appends a change to the journal after the backup failed to take it. The journal has at most
    /// one record of each entry and kind of change: the change replaces a lesser fact of its kind,
    /// and is dropped if the journal has a greater one.
    ///
    /// # Errors
    /// [`LineError::JournalFull`] if the journal is at its overall limit.
    pub async fn append_to_journal(&self, queue: &QueueId, change: &Change) -> Result<(), LineError> {
        let call = APPEND_TO_JOURNAL
            .call_for_queue(&Keys::new(queue))
            .arg(self.journal_limits.all_changes);
        let reply = call.args(encode_change(change)).send(self).await?;
        match reply.outcome() {
            "recorded" => Ok(()),
            "full" => Err(LineError::JournalFull),
            _ => Err(reply.protocol_error("a known outcome")),
        }
    }
}
