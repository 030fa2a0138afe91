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

    /// All checkpoints. An unreadable one is left out.
    pub(super) fn read_checkpoints(&self) -> Result<Vec<(QueueId, Value)>, BackupError> {
        let mut checkpoints = Vec::new();
        for found in self.checkpoints.iter().map_err(|e| to_backup_error(&e))? {
            let (queue, checkpoint) = found.map_err(|e| to_backup_error(&e))?;
            let checkpoint = serde_json::from_slice(checkpoint.value()).ok();
            checkpoints.extend(queue.value().parse().ok().zip(checkpoint));
        }
        Ok(checkpoints)
    }

    /// Removes all checkpoints.
    pub(super) fn remove_checkpoints(&mut self) -> Result<(), BackupError> {
        let removed = self.checkpoints.retain(|_, _| false);
        removed.map_err(|e| to_backup_error(&e))
    }
}
