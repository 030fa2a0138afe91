//! The checkpoints of stopped queues in the store file, in JSON.

use redb::ReadableTable;
use serde_json::Value;
use vestibule_backup::BackupError;
use vestibule_domain::id::QueueId;

use super::tables::{Tables, to_backup_error};

impl Tables<'_> {
    /// Adds or replaces the checkpoint of a queue.
    pub(super) fn put_checkpoint(&mut self, queue: &QueueId, checkpoint: &Value) -> Result<(), BackupError> {
        let put = self
            .checkpoints
            .insert(queue.as_str(), checkpoint.to_string().as_bytes());
        put.map(drop).map_err(|e| to_backup_error(&e))
    }

    /// Removes all checkpoints and returns them.
    pub(super) fn take_checkpoints(&mut self) -> Result<Vec<(QueueId, Value)>, BackupError> {
        let mut taken = Vec::new();
        for found in self.checkpoints.iter().map_err(|e| to_backup_error(&e))? {
            let (queue, checkpoint) = found.map_err(|e| to_backup_error(&e))?;
            let checkpoint = serde_json::from_slice(checkpoint.value()).ok();
            taken.extend(queue.value().parse().ok().zip(checkpoint));
        }
        let removed = self.checkpoints.retain(|_, _| false);
        removed.map_err(|e| to_backup_error(&e))?;
        Ok(taken)
    }
}
