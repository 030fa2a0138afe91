//! The tombstones of deleted queues in the store file, in JSON.

use redb::{ReadTransaction, ReadableTable};
use serde::{Deserialize, Serialize};
use vestibule_backup::BackupError;
use vestibule_domain::{id::QueueId, tombstone::Tombstone};

use super::tables::{TOMBSTONES, Tables, to_backup_error};

/// A tombstone as the file stores it.
#[derive(Serialize, Deserialize)]
pub(super) struct FileTombstone {
    epoch: u32,
    generation: u32,
    deleted_at_ms: u64,
}

impl Tables<'_> {
    /// Replaces a queue of this epoch by its tombstone.
    pub(super) fn delete_queue(
        &mut self,
        queue: &QueueId,
        epoch: u32,
        tombstone: &Tombstone,
    ) -> Result<bool, BackupError> {
        match self.read_queue(queue)? {
            Some(stored) if stored.metadata.epoch == epoch => {}
            Some(_) => return Ok(false),
            // An earlier attempt of this call succeeded, and its answer was lost.
            None => return Ok(self.read_tombstone(queue)? == Some(*tombstone)),
        }
        self.queues
            .remove(queue.as_str())
            .map_err(|e| to_backup_error(&e))?;
        self.put_tombstone(queue, tombstone)?;
        Ok(true)
    }

    /// Adds a tombstone, unless the file has anything of the queue.
    pub(super) fn add_tombstone(
        &mut self,
        queue: &QueueId,
        tombstone: &Tombstone,
    ) -> Result<bool, BackupError> {
        if self.read_queue(queue)?.is_some() {
            return Ok(false);
        }
        if let Some(stored) = self.read_tombstone(queue)? {
            return Ok(stored == *tombstone);
        }
        self.put_tombstone(queue, tombstone)?;
        Ok(true)
    }

    pub(super) fn read_tombstone(&self, queue: &QueueId) -> Result<Option<Tombstone>, BackupError> {
        let value = self
            .tombstones
            .get(queue.as_str())
            .map_err(|e| to_backup_error(&e))?;
        value.map(|value| decode_tombstone(value.value())).transpose()
    }

    fn put_tombstone(&mut self, queue: &QueueId, tombstone: &Tombstone) -> Result<(), BackupError> {
        let Tombstone {
            epoch,
            generation,
            deleted_at_ms,
        } = *tombstone;
        let stored = FileTombstone {
            epoch,
            generation,
            deleted_at_ms,
        };
        let value = serde_json::to_vec(&stored).expect("a struct of numbers serializes to JSON");
        let put = self.tombstones.insert(queue.as_str(), value.as_slice());
        put.map(drop).map_err(|e| to_backup_error(&e))
    }
}

impl From<FileTombstone> for Tombstone {
    fn from(stored: FileTombstone) -> Self {
        Self {
            epoch: stored.epoch,
            generation: stored.generation,
            deleted_at_ms: stored.deleted_at_ms,
        }
    }
}

/// The tombstone of one queue.
pub(super) fn find_tombstone(
    transaction: &ReadTransaction,
    queue: &QueueId,
) -> Result<Option<Tombstone>, BackupError> {
    let table = transaction
        .open_table(TOMBSTONES)
        .map_err(|e| to_backup_error(&e))?;
    let value = table.get(queue.as_str()).map_err(|e| to_backup_error(&e))?;
    value.map(|value| decode_tombstone(value.value())).transpose()
}

/// The tombstones of all deleted queues.
pub(super) fn read_tombstones(
    transaction: &ReadTransaction,
) -> Result<Vec<(QueueId, Tombstone)>, BackupError> {
    let table = transaction
        .open_table(TOMBSTONES)
        .map_err(|e| to_backup_error(&e))?;
    let all = table.iter().map_err(|e| to_backup_error(&e))?;
    all.map(|found| {
        let (queue, value) = found.map_err(|e| to_backup_error(&e))?;
        let nonsense = |e| BackupError::Unreadable(format!("the queue id {:?}: {e}", queue.value()));
        let id = queue.value().parse().map_err(nonsense)?;
        Ok((id, decode_tombstone(value.value())?))
    })
    .collect()
}

fn decode_tombstone(value: &[u8]) -> Result<Tombstone, BackupError> {
    let stored: FileTombstone = serde_json::from_slice(value)
        .map_err(|e| BackupError::Unreadable(format!("a tombstone in the store file: {e}")))?;
    Ok(stored.into())
}
