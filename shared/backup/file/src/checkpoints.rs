//! The checkpoints of stopped queues: what the next process needs to continue them with the same epoch.

use redb::{ReadableTable, TableDefinition};
use serde_json::Value;
use vestibule_backup::BackupError;
use vestibule_domain::id::QueueId;

use super::{
    FileBackup,
    tables::{Tables, to_backup_error},
};

/// The checkpoint of each queue, in JSON.
pub(super) const CHECKPOINTS: TableDefinition<&str, &[u8]> = TableDefinition::new("checkpoints");

impl FileBackup {
    /// Stores the checkpoints of stopped queues. Call it last: a checkpoint says that the file has every change of its
    /// queue.
    ///
    /// # Errors
    /// [`BackupError`] if the file cannot be written. It then has none of the checkpoints.
    pub async fn store_checkpoints(&self, checkpoints: Vec<(QueueId, Value)>) -> Result<(), BackupError> {
        self.writer
            .commit(move |tables| {
                let put = |(queue, checkpoint)| tables.put_checkpoint(&queue, &checkpoint);
                checkpoints.into_iter().try_for_each(put)
            })
            .await
    }

    /// Removes all checkpoints from the file and returns them. When the call returns, the removal survives a crash. So a
    /// checkpoint is used once at most, and no later run takes an older state for that of its queue. An unreadable
    /// checkpoint is left out.
    ///
    /// # Errors
    /// [`BackupError`] if the file cannot be read or written. The checkpoints must not be used then.
    pub async fn take_checkpoints(&self) -> Result<Vec<(QueueId, Value)>, BackupError> {
        self.writer.commit(|tables| tables.take_checkpoints()).await
    }
}

impl Tables<'_> {
    fn put_checkpoint(&mut self, queue: &QueueId, checkpoint: &Value) -> Result<(), BackupError> {
        let put = self
            .checkpoints
            .insert(queue.as_str(), checkpoint.to_string().as_bytes());
        put.map(drop).map_err(|e| to_backup_error(&e))
    }

    fn take_checkpoints(&mut self) -> Result<Vec<(QueueId, Value)>, BackupError> {
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
