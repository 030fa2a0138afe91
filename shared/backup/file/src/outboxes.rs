//! The outboxes of the queues' events, in the store file, in JSON.

use redb::{ReadTransaction, ReadableTable};
use serde::{Deserialize, Serialize};
use vestibule_backup::{BackupError, StoredOutbox};
use vestibule_domain::{event_outbox::EventOutbox, id::QueueId};

use super::tables::{OUTBOXES, Tables, to_backup_error};

#[derive(Serialize, Deserialize)]
struct FileOutbox {
    revision: u64,
    outbox: EventOutbox,
    /// When it was replaced, in Unix milliseconds. The files of former versions do not say so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at_ms: Option<u64>,
}

impl Tables<'_> {
    /// Replaces the outbox of a queue if it has the expected revision.
    pub(super) fn replace_outbox(
        &mut self,
        queue: &QueueId,
        expected_revision: u64,
        outbox: EventOutbox,
        now_ms: u64,
    ) -> Result<bool, BackupError> {
        let stored = self
            .outboxes
            .get(queue.as_str())
            .map_err(|e| to_backup_error(&e))?;
        let stored = stored.map(|value| decode_outbox(value.value())).transpose()?;
        let revision = stored.map_or(0, |stored| stored.revision);
        if revision != expected_revision {
            return Ok(false);
        }
        let value = FileOutbox {
            revision: revision + 1,
            outbox,
            at_ms: Some(now_ms),
        };
        let value = serde_json::to_vec(&value).map_err(|e| to_backup_error(&e))?;
        let put = self.outboxes.insert(queue.as_str(), value.as_slice());
        put.map(|_| true).map_err(|e| to_backup_error(&e))
    }
}

/// The outbox of a queue.
pub(super) fn read_outbox(
    transaction: &ReadTransaction,
    queue: &QueueId,
) -> Result<Option<StoredOutbox>, BackupError> {
    let table = transaction
        .open_table(OUTBOXES)
        .map_err(|e| to_backup_error(&e))?;
    let stored = table.get(queue.as_str()).map_err(|e| to_backup_error(&e))?;
    stored.map(|value| decode_outbox(value.value())).transpose()
}

fn decode_outbox(value: &[u8]) -> Result<StoredOutbox, BackupError> {
    let unreadable = |e| BackupError::Unreadable(format!("the events of a queue: {e}"));
    let stored: FileOutbox = serde_json::from_slice(value).map_err(unreadable)?;
    Ok(StoredOutbox {
        revision: stored.revision,
        outbox: stored.outbox,
    })
}
