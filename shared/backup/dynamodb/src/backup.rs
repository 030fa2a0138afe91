//! The trait `Backup` for the tables in DynamoDB.

use async_trait::async_trait;
use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::{Map, Value};
use tokio::time::Instant;
use uuid::Uuid;
use vestibule_backup::{
    Backup, BackupError, EntryPage, EntryPartition, Lease, LeaseOutcome, OperatorOrder, OrderLog, PutOutcome,
    QueueListing, QueueLookup, QueueMetadata, StoredDefaults, StoredOutbox, StoredQueue, StoredSettings,
    throttled_writes::write_throttled,
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
    DynamoDbBackup,
    client::to_backup_error,
    entry_items::{self, attribute_names},
    queue_items,
    shard_reads::{self, query_shard, read_records},
};

#[async_trait]
impl Backup for DynamoDbBackup {
    async fn put_change(
        &self,
        partition: &EntryPartition,
        change: &Change,
    ) -> Result<PutOutcome, BackupError> {
        self.write_change(partition, change).await
    }

    async fn put_entry_changes(
        &self,
        partition: &EntryPartition,
        changes: &[Change],
    ) -> Result<Vec<PutOutcome>, BackupError> {
        self.write_changes(partition, changes).await
    }

    async fn put_changes(
        &self,
        partition: &EntryPartition,
        changes: &[Change],
        until: Instant,
    ) -> Vec<Result<PutOutcome, BackupError>> {
        let write = |changes: Vec<Change>| async move {
            let _permit = self.journal_writes.acquire().await;
            self.write_changes(partition, &changes).await
        };
        write_throttled(changes, until, write).await
    }

    async fn probe_writes(&self, partition: &EntryPartition) -> Result<(), BackupError> {
        self.send_refused_put(partition).await
    }

    async fn read_entry(
        &self,
        partition: &EntryPartition,
        id: EntryId,
    ) -> Result<Option<EntryRecord>, BackupError> {
        let request = self
            .client
            .get_item()
            .table_name(&self.tables.entries)
            .set_key(Some(entry_items::key(partition, id)))
            .consistent_read(true);
        let answer = request.send().await.map_err(|e| to_backup_error("GetItem", &e))?;
        answer.item().map(entry_items::to_record).transpose()
    }

    async fn read_live_entries(
        &self,
        partition: &EntryPartition,
        shard: u8,
        now_ms: u64,
    ) -> Result<Vec<EntryRecord>, BackupError> {
        let query = query_shard(&self.client, &self.tables.entries, partition, shard);
        let query = shard_reads::keep_live_entries(query, now_ms).set_limit(self.page_items);
        read_records(partition, query).await
    }

    async fn read_recent_entries(
        &self,
        partition: &EntryPartition,
        shard: u8,
    ) -> Result<Vec<EntryRecord>, BackupError> {
        let query =
            query_shard(&self.client, &self.tables.entries, partition, shard).set_limit(self.page_items);
        read_records(partition, query).await
    }

    async fn read_entry_page(
        &self,
        partition: &EntryPartition,
        shard: u8,
        after: Option<EntryId>,
        records_max: usize,
    ) -> Result<EntryPage, BackupError> {
        let query = query_shard(&self.client, &self.tables.entries, partition, shard).consistent_read(true);
        shard_reads::read_page(partition, shard, query, after, records_max).await
    }

    async fn store_tally(&self, queue: &QueueId, snapshot: &TallySnapshot) -> Result<bool, BackupError> {
        self.put_tally(queue, snapshot).await
    }

    async fn read_tally(
        &self,
        queue: &QueueId,
        generation: Option<u32>,
    ) -> Result<Option<TallySnapshot>, BackupError> {
        self.query_tally(queue, generation).await
    }

    async fn record_order(&self, queue: &QueueId, order: &OperatorOrder) -> Result<(), BackupError> {
        self.put_order(queue, order).await
    }

    async fn read_orders(&self, queue: &QueueId) -> Result<OrderLog, BackupError> {
        self.query_orders(queue).await
    }

    async fn read_outbox(&self, queue: &QueueId) -> Result<Option<StoredOutbox>, BackupError> {
        self.get_outbox(queue).await
    }

    async fn replace_outbox(
        &self,
        queue: &QueueId,
        expected_revision: u64,
        outbox: &EventOutbox,
        now_ms: u64,
    ) -> Result<bool, BackupError> {
        self.put_outbox(queue, expected_revision, outbox, now_ms).await
    }

    async fn look_up_queue(&self, queue: &QueueId) -> Result<QueueLookup, BackupError> {
        let request = self
            .client
            .query()
            .table_name(&self.tables.queues)
            .consistent_read(true)
            .key_condition_expression("#queue = :queue")
            .set_expression_attribute_names(Some(attribute_names(&["#queue"])))
            .expression_attribute_values(":queue", AttributeValue::S(queue.to_string()));
        let answer = request.send().await.map_err(|e| to_backup_error("Query", &e))?;
        queue_items::from_items(answer.items())
    }

    async fn list_all_queues(&self) -> Result<QueueListing, BackupError> {
        self.scan_queues().await
    }

    async fn list_defaults(&self) -> Result<Vec<StoredDefaults>, BackupError> {
        self.scan_defaults().await
    }

    async fn replace_defaults(
        &self,
        pattern: &QueuePattern,
        settings: Option<&Map<String, Value>>,
    ) -> Result<bool, BackupError> {
        match settings {
            Some(settings) => self.put_defaults(pattern, settings).await,
            None => self.delete_defaults(pattern).await,
        }
    }

    async fn create_queue(&self, queue: &QueueId, stored: &StoredQueue) -> Result<bool, BackupError> {
        self.add_queue(queue, stored).await
    }

    async fn delete_queue(
        &self,
        queue: &QueueId,
        epoch: u32,
        tombstone: &Tombstone,
    ) -> Result<bool, BackupError> {
        self.replace_queue_by_tombstone(queue, epoch, tombstone).await
    }

    async fn add_tombstone(&self, queue: &QueueId, tombstone: &Tombstone) -> Result<bool, BackupError> {
        self.put_tombstone(queue, tombstone).await
    }

    async fn replace_settings(
        &self,
        queue: &QueueId,
        expected: &StoredSettings,
        settings: &Map<String, Value>,
    ) -> Result<Option<u64>, BackupError> {
        self.replace_stored_settings(queue, expected, settings).await
    }

    async fn take_lease(
        &self,
        queue: &QueueId,
        epoch: u32,
        lease: Lease,
        now_ms: u64,
    ) -> Result<LeaseOutcome, BackupError> {
        self.put_lease(queue, epoch, lease, now_ms).await
    }

    async fn renew_lease(&self, queue: &QueueId, epoch: u32, lease: Lease) -> Result<bool, BackupError> {
        self.extend_lease(queue, epoch, lease).await
    }

    async fn release_lease(&self, queue: &QueueId, epoch: u32, holder: Uuid) -> Result<(), BackupError> {
        self.remove_lease(queue, epoch, holder).await
    }

    async fn raise_watermark(&self, queue: &QueueId, epoch: u32, fence: u64) -> Result<(), BackupError> {
        self.put_watermark(queue, epoch, fence).await
    }

    async fn record_opening(
        &self,
        queue: &QueueId,
        epoch: u32,
        opened_at_ms: u64,
    ) -> Result<(), BackupError> {
        self.put_opening(queue, epoch, opened_at_ms).await
    }

    async fn replace_kept_times(
        &self,
        queue: &QueueId,
        epoch: u32,
        expected: KeptTimes,
        kept: KeptTimes,
    ) -> Result<bool, BackupError> {
        self.put_kept_times(queue, epoch, expected, kept).await
    }

    async fn record_root_key(
        &self,
        queue: &QueueId,
        epoch: u32,
        root: RootFingerprint,
    ) -> Result<(), BackupError> {
        self.put_root_key(queue, epoch, root).await
    }

    async fn begin_generation(
        &self,
        queue: &QueueId,
        epoch: u32,
        salt: Salt,
    ) -> Result<Option<QueueMetadata>, BackupError> {
        self.put_generation(queue, epoch, salt).await
    }

    async fn ping(&self) -> Result<(), BackupError> {
        // No queue has this id. An answer without an item shows that DynamoDB works.
        let request = self
            .client
            .get_item()
            .table_name(&self.tables.queues)
            .set_key(Some(queue_items::key(".ping", queue_items::SETTINGS_PART)));
        request.send().await.map_err(|e| to_backup_error("GetItem", &e))?;
        Ok(())
    }
}
