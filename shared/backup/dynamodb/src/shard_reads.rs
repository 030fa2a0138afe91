//! Reads all entries of one shard of a queue.

use aws_sdk_dynamodb::{Client, operation::query::builders::QueryFluentBuilder};
use vestibule_backup::{BackupError, EntryPartition};
use vestibule_domain::record::EntryRecord;

use super::{
    client::{self, to_backup_error},
    entry_items,
};

/// The condition of a query that reads one shard.
pub(super) const SHARD_KEY: &str = "#shard = :shard";

/// Begins a query of one shard. The caller names the attributes of its expressions.
pub(super) fn query_shard(
    client: &Client,
    table: &str,
    partition: &EntryPartition,
    shard: u8,
) -> QueryFluentBuilder {
    client::with_long_timeouts(client)
        .query()
        .table_name(table)
        .key_condition_expression(SHARD_KEY)
        .expression_attribute_values(":shard", entry_items::partition_key(partition, shard))
}

/// Sends a query of one shard, page by page.
pub(super) async fn read_records(
    partition: &EntryPartition,
    query: QueryFluentBuilder,
) -> Result<Vec<EntryRecord>, BackupError> {
    let mut items = query.into_paginator().items().send();
    let mut records = Vec::new();
    while let Some(item) = items.next().await {
        let item = item.map_err(|e| to_backup_error("Query", &e))?;
        match entry_items::to_record(&item) {
            Ok(record) => records.push(record),
            // The item was damaged by hand. The other entries of the shard are still returned.
            Err(error) => {
                let entry = entry_items::required_text(&item, entry_items::ENTRY).unwrap_or_default();
                tracing::error!(
                    event = "backup.entry_skipped", queue = %partition.queue, entry, %error,
                    "skipped an item of the entries table that is not a readable entry: repair or delete the item"
                );
            }
        }
    }
    Ok(records)
}
