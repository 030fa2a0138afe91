//! The trait `Backup` for the store file.

use async_trait::async_trait;
use serde_json::{Map, Value};
use tokio::time::Instant;
use uuid::Uuid;
use vestibule_backup::{
    Backup, BackupError, EntryPage, EntryPartition, Lease, LeaseOutcome, OperatorOrder, OrderLog, PutOutcome,
    QueueListing, QueueLookup, QueueMetadata, StoredDefaults, StoredOutbox, StoredQueue, StoredSettings,
};
use vestibule_domain::{
    change::Change,
    event_outbox::EventOutbox,
    id::{EntryId, QueueId, RootFingerprint, Salt},
    kept_times::KeptTimes,
    queue_pattern::QueuePattern,
    record::EntryRecord,
    tally::TallySnapshot,
    tombstone::Tombstone,
};

use super::{
    FileBackup, defaults, entry_pages, entry_reads, outboxes, queues, report,
    tables::{QUEUES, Tables, to_backup_error},
    tombstones,
};

#[async_trait]
impl Backup for FileBackup {
    async fn put_change(
        &self,
        partition: &EntryPartition,
        change: &Change,
    ) -> Result<PutOutcome, BackupError> {
        let (partition, change) = (partition.clone(), *change);
        self.writer
            .commit(move |tables| tables.put_change(&partition, &change))
            .await
    }

    /// Writes the changes in one transaction. Each sees what the one before stored.
    async fn put_entry_changes(
        &self,
        partition: &EntryPartition,
        changes: &[Change],
    ) -> Result<Vec<PutOutcome>, BackupError> {
        let (partition, written) = (partition.clone(), changes.to_vec());
        let write = move |tables: &mut Tables<'_>| {
            let write = |change| tables.put_change(&partition, change);
            written.iter().map(write).collect()
        };
        self.writer.commit(write).await
    }

    /// Writes all changes in one transaction, so they wait for the disk once. The file never throttles.
    async fn put_changes(
        &self,
        partition: &EntryPartition,
        changes: &[Change],
        _until: Instant,
    ) -> Vec<Result<PutOutcome, BackupError>> {
        let (partition, written) = (partition.clone(), changes.to_vec());
        let write = move |tables: &mut Tables<'_>| {
            let write = |change| tables.put_change(&partition, change);
            Ok(written.iter().map(write).collect())
        };
        match self.writer.commit(write).await {
            Ok(outcomes) => outcomes,
            Err(error) => changes.iter().map(|_| Err(error.clone())).collect(),
        }
    }

    async fn probe_writes(&self, _: &EntryPartition) -> Result<(), BackupError> {
        self.writer.commit(|_| Ok(())).await
    }

    async fn read_entry(
        &self,
        partition: &EntryPartition,
        id: EntryId,
    ) -> Result<Option<EntryRecord>, BackupError> {
        let partition = partition.clone();
        self.run_read(move |transaction| entry_reads::read_entry(transaction, &partition, id))
            .await
    }

    async fn read_live_entries(
        &self,
        partition: &EntryPartition,
        shard: u8,
        now_ms: u64,
    ) -> Result<Vec<EntryRecord>, BackupError> {
        let mut records = self.read_recent_entries(partition, shard).await?;
        records.retain(|record| record.state.is_live() || record.fact.is_held_at(now_ms));
        Ok(records)
    }

    async fn read_recent_entries(
        &self,
        partition: &EntryPartition,
        shard: u8,
    ) -> Result<Vec<EntryRecord>, BackupError> {
        let partition = partition.clone();
        self.run_read(move |transaction| entry_reads::read_shard(transaction, &partition, shard))
            .await
    }

    async fn read_entry_page(
        &self,
        partition: &EntryPartition,
        shard: u8,
        after: Option<EntryId>,
        records_max: usize,
    ) -> Result<EntryPage, BackupError> {
        let partition = partition.clone();
        self.run_read(move |transaction| {
            entry_pages::read_entry_page(transaction, &partition, shard, after, records_max)
        })
        .await
    }

    async fn store_tally(&self, queue: &QueueId, snapshot: &TallySnapshot) -> Result<bool, BackupError> {
        let (queue, snapshot) = (queue.clone(), snapshot.clone());
        self.writer
            .commit(move |tables| tables.store_tally(&queue, &snapshot))
            .await
    }

    async fn read_tally(
        &self,
        queue: &QueueId,
        generation: Option<u32>,
    ) -> Result<Option<TallySnapshot>, BackupError> {
        let queue = queue.clone();
        self.run_read(move |transaction| report::read_tally(transaction, &queue, generation))
            .await
    }

    async fn record_order(&self, queue: &QueueId, order: &OperatorOrder) -> Result<(), BackupError> {
        let (queue, order) = (queue.clone(), order.clone());
        self.writer
            .commit(move |tables| tables.record_order(&queue, &order))
            .await
    }

    async fn read_orders(&self, queue: &QueueId) -> Result<OrderLog, BackupError> {
        let queue = queue.clone();
        self.run_read(move |transaction| report::read_orders(transaction, &queue))
            .await
    }

    async fn read_outbox(&self, queue: &QueueId) -> Result<Option<StoredOutbox>, BackupError> {
        let queue = queue.clone();
        self.run_read(move |transaction| outboxes::read_outbox(transaction, &queue))
            .await
    }

    async fn replace_outbox(
        &self,
        queue: &QueueId,
        expected_revision: u64,
        outbox: &EventOutbox,
        now_ms: u64,
    ) -> Result<bool, BackupError> {
        let (queue, outbox) = (queue.clone(), outbox.clone());
        self.writer
            .commit(move |tables| tables.replace_outbox(&queue, expected_revision, outbox, now_ms))
            .await
    }

    async fn look_up_queue(&self, queue: &QueueId) -> Result<QueueLookup, BackupError> {
        let queue = queue.clone();
        self.run_read(move |transaction| {
            let queues = transaction.open_table(QUEUES).map_err(|e| to_backup_error(&e))?;
            let value = queues.get(queue.as_str()).map_err(|e| to_backup_error(&e))?;
            if let Some(value) = value {
                return queues::decode_queue(value.value()).map(QueueLookup::Present);
            }
            let tombstone = tombstones::find_tombstone(transaction, &queue)?;
            Ok(tombstone.map_or(QueueLookup::Absent, QueueLookup::Deleted))
        })
        .await
    }

    async fn list_all_queues(&self) -> Result<QueueListing, BackupError> {
        self.run_read(|transaction| {
            Ok(QueueListing {
                queues: queues::read_fingerprints(transaction)?,
                deleted: tombstones::read_tombstones(transaction)?,
            })
        })
        .await
    }

    async fn list_defaults(&self) -> Result<Vec<StoredDefaults>, BackupError> {
        self.run_read(defaults::read_defaults).await
    }

    async fn replace_defaults(
        &self,
        pattern: &QueuePattern,
        settings: Option<&Map<String, Value>>,
    ) -> Result<bool, BackupError> {
        let (pattern, settings) = (pattern.clone(), settings.cloned());
        self.writer
            .commit(move |tables| tables.replace_defaults(&pattern, settings.as_ref()))
            .await
    }

    async fn create_queue(&self, queue: &QueueId, stored: &StoredQueue) -> Result<bool, BackupError> {
        let (queue, stored) = (queue.clone(), stored.clone());
        self.writer
            .commit(move |tables| tables.create_queue(&queue, &stored))
            .await
    }

    async fn delete_queue(
        &self,
        queue: &QueueId,
        epoch: u32,
        tombstone: &Tombstone,
    ) -> Result<bool, BackupError> {
        let (queue, tombstone) = (queue.clone(), *tombstone);
        self.writer
            .commit(move |tables| tables.delete_queue(&queue, epoch, &tombstone))
            .await
    }

    async fn add_tombstone(&self, queue: &QueueId, tombstone: &Tombstone) -> Result<bool, BackupError> {
        let (queue, tombstone) = (queue.clone(), *tombstone);
        self.writer
            .commit(move |tables| tables.add_tombstone(&queue, &tombstone))
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
    ) -> Result<LeaseOutcome, BackupError> {
        let queue = queue.clone();
        self.writer
            .commit(move |tables| tables.take_lease(&queue, epoch, lease, now_ms))
            .await
    }

    async fn renew_lease(&self, queue: &QueueId, epoch: u32, lease: Lease) -> Result<bool, BackupError> {
        let renewed = self.update_metadata(queue, epoch, move |part| {
            let is_ours = part.lease.is_some_and(|held| held.holder == lease.holder);
            if is_ours {
                part.lease = Some(lease);
            }
            is_ours
        });
        Ok(renewed.await?.is_some())
    }

    async fn release_lease(&self, queue: &QueueId, epoch: u32, holder: Uuid) -> Result<(), BackupError> {
        let released = self.update_metadata(queue, epoch, move |part| {
            part.lease.take_if(|held| held.holder == holder).is_some()
        });
        released.await.map(drop)
    }

    async fn raise_watermark(&self, queue: &QueueId, epoch: u32, fence: u64) -> Result<(), BackupError> {
        let raised = self.update_metadata(queue, epoch, move |part| {
            let is_higher = fence > part.watermark;
            part.watermark = part.watermark.max(fence);
            is_higher
        });
        raised.await.map(drop)
    }

    async fn record_opening(
        &self,
        queue: &QueueId,
        epoch: u32,
        opened_at_ms: u64,
    ) -> Result<(), BackupError> {
        let recorded = self.update_metadata(queue, epoch, move |part| {
            let is_new = part.opened_at_ms.is_none();
            part.opened_at_ms = part.opened_at_ms.or(Some(opened_at_ms));
            is_new
        });
        recorded.await.map(drop)
    }

    async fn replace_kept_times(
        &self,
        queue: &QueueId,
        epoch: u32,
        expected: KeptTimes,
        kept: KeptTimes,
    ) -> Result<bool, BackupError> {
        let replaced = self.update_metadata(queue, epoch, move |part| {
            let is_as_expected = part.kept_times == expected || part.kept_times == kept;
            if is_as_expected {
                part.kept_times = kept;
            }
            is_as_expected
        });
        Ok(replaced.await?.is_some())
    }

    async fn record_root_key(
        &self,
        queue: &QueueId,
        epoch: u32,
        root: RootFingerprint,
    ) -> Result<(), BackupError> {
        let recorded = self.update_metadata(queue, epoch, move |part| {
            let is_new = part.salt.root().is_none();
            part.salt = part.salt.with_root(part.salt.root().or(Some(root)));
            is_new
        });
        recorded.await.map(drop)
    }

    async fn begin_generation(
        &self,
        queue: &QueueId,
        epoch: u32,
        salt: Salt,
    ) -> Result<Option<QueueMetadata>, BackupError> {
        self.update_metadata(queue, epoch, move |part| {
            *part = part.next_generation(salt);
            true
        })
        .await
    }

    async fn ping(&self) -> Result<(), BackupError> {
        self.run_read(|_| Ok(())).await
    }
}
