//! The trait `Backup` for the store file.

use async_trait::async_trait;
use redb::ReadableTable;
use serde_json::{Map, Value};
use tokio::time::Instant;
use uuid::Uuid;
use vestibule_backup::{
    Backup, BackupError, Lease, Leased, LinePart, Placing, Shelf, StoredQueue, StoredSettings, Written,
};
use vestibule_domain::{
    change::Change,
    id::{EntryId, QueueId, Salt},
    record::Record,
};

use super::{
    FileBackup, queues,
    store::{self, ENTRIES, QUEUES, Tables, unavailable},
};

#[async_trait]
impl Backup for FileBackup {
    async fn write(&self, shelf: &Shelf, change: &Change) -> Result<Written, BackupError> {
        let (shelf, change) = (shelf.clone(), *change);
        self.writer
            .commit(move |tables| tables.write(&shelf, &change))
            .await
    }

    async fn write_place(&self, shelf: &Shelf, change: &Change) -> Result<Placing, BackupError> {
        let (shelf, change) = (shelf.clone(), *change);
        self.writer
            .commit(move |tables| tables.write_place(&shelf, &change))
            .await
    }

    /// Writes all changes in one transaction, so they wait for the disk once. The file never throttles.
    async fn write_each(
        &self,
        shelf: &Shelf,
        changes: &[Change],
        _until: Instant,
    ) -> Vec<Result<Written, BackupError>> {
        let (shelf, written) = (shelf.clone(), changes.to_vec());
        let write = move |tables: &mut Tables<'_>| {
            let write = |change| tables.write(&shelf, change);
            Ok(written.iter().map(write).collect())
        };
        match self.writer.commit(write).await {
            Ok(outcomes) => outcomes,
            Err(error) => changes.iter().map(|_| Err(error.clone())).collect(),
        }
    }

    async fn takes_writes(&self, _: &Shelf) -> Result<(), BackupError> {
        self.writer.commit(|_| Ok(())).await
    }

    async fn entry(&self, shelf: &Shelf, id: EntryId) -> Result<Option<Record>, BackupError> {
        let shelf = shelf.clone();
        self.read(move |transaction| {
            let entries = transaction.open_table(ENTRIES).map_err(|e| unavailable(&e))?;
            let key = (shelf.queue.as_str(), shelf.generation, id.shard(), id.as_bytes());
            let value = entries.get(key).map_err(|e| unavailable(&e))?;
            value.map(|value| store::decode(id, value.value())).transpose()
        })
        .await
    }

    async fn live_entries(&self, shelf: &Shelf, shard: u8) -> Result<Vec<Record>, BackupError> {
        let shelf = shelf.clone();
        self.read(move |transaction| {
            let entries = transaction.open_table(ENTRIES).map_err(|e| unavailable(&e))?;
            let (queue, generation) = (shelf.queue.as_str(), shelf.generation);
            let whole = (queue, generation, shard, &[0; 16])..=(queue, generation, shard, &[u8::MAX; 16]);
            let mut records = Vec::new();
            for found in entries.range(whole).map_err(|e| unavailable(&e))? {
                let (key, value) = found.map_err(|e| unavailable(&e))?;
                let id = store::entry_id(key.value().3)?;
                records.push(store::decode(id, value.value())?);
            }
            records.retain(|record| record.state.is_live());
            Ok(records)
        })
        .await
    }

    async fn queue(&self, queue: &QueueId) -> Result<Option<StoredQueue>, BackupError> {
        let queue = queue.clone();
        self.read(move |transaction| {
            let queues = transaction.open_table(QUEUES).map_err(|e| unavailable(&e))?;
            let value = queues.get(queue.as_str()).map_err(|e| unavailable(&e))?;
            value.map(|value| queues::decode_queue(value.value())).transpose()
        })
        .await
    }

    async fn queues(&self) -> Result<Vec<QueueId>, BackupError> {
        self.read(|transaction| {
            let queues = transaction.open_table(QUEUES).map_err(|e| unavailable(&e))?;
            let all = queues.iter().map_err(|e| unavailable(&e))?;
            all.map(|found| {
                let (key, _) = found.map_err(|e| unavailable(&e))?;
                let nonsense = |e| BackupError::Nonsense(format!("the queue id {:?}: {e}", key.value()));
                key.value().parse().map_err(nonsense)
            })
            .collect()
        })
        .await
    }

    async fn create_queue(&self, queue: &QueueId, stored: &StoredQueue) -> Result<bool, BackupError> {
        let (queue, stored) = (queue.clone(), stored.clone());
        self.writer
            .commit(move |tables| tables.create_queue(&queue, &stored))
            .await
    }

    async fn replace_settings(
        &self,
        queue: &QueueId,
        expected: &StoredSettings,
        settings: &Map<String, Value>,
    ) -> Result<Option<u64>, BackupError> {
        let (queue, expected, settings) = (queue.clone(), expected.clone(), settings.clone());
        self.writer
            .commit(move |tables| tables.replace_settings(&queue, &expected, &settings))
            .await
    }

    async fn take_lease(
        &self,
        queue: &QueueId,
        epoch: u32,
        lease: Lease,
        now_ms: u64,
    ) -> Result<Leased, BackupError> {
        let queue = queue.clone();
        self.writer
            .commit(move |tables| tables.take_lease(&queue, epoch, lease, now_ms))
            .await
    }

    async fn renew_lease(&self, queue: &QueueId, epoch: u32, lease: Lease) -> Result<bool, BackupError> {
        let renewed = self.change_part(queue, epoch, move |part| {
            let is_ours = part.lease.is_some_and(|held| held.holder == lease.holder);
            if is_ours {
                part.lease = Some(lease);
            }
            is_ours
        });
        Ok(renewed.await?.is_some())
    }

    async fn release_lease(&self, queue: &QueueId, epoch: u32, holder: Uuid) -> Result<(), BackupError> {
        let released = self.change_part(queue, epoch, move |part| {
            part.lease.take_if(|held| held.holder == holder).is_some()
        });
        released.await.map(drop)
    }

    async fn raise_fence(&self, queue: &QueueId, epoch: u32, fence: u64) -> Result<(), BackupError> {
        let raised = self.change_part(queue, epoch, move |part| {
            let is_higher = fence > part.fence;
            part.fence = part.fence.max(fence);
            is_higher
        });
        raised.await.map(drop)
    }

    async fn begin_generation(
        &self,
        queue: &QueueId,
        epoch: u32,
        salt: Salt,
    ) -> Result<Option<LinePart>, BackupError> {
        self.change_part(queue, epoch, move |part| {
            *part = part.next_generation(salt);
            true
        })
        .await
    }

    async fn ping(&self) -> Result<(), BackupError> {
        self.read(|_| Ok(())).await
    }
}
