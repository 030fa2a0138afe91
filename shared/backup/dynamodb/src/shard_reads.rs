//! Reads all entries of one shard of a queue.

use aws_sdk_dynamodb::{Client, operation::query::builders::QueryFluentBuilder};
use vestibule_backup::{BackupError, EntryPage, EntryPartition};
use vestibule_domain::{fact::Step, id::EntryId, record::EntryRecord, state::EntryState};

use super::{
    client::{self, to_backup_error},
    entry_items::{self, Item, attribute_names},
};

/// The condition of a query that reads one shard.
const SHARD_KEY: &str = "#shard = :shard";
/// The entry is live, or its slot is still held.
const LIVE_OR_HELD: &str = "#status IN (:waiting, :ready, :active) OR (#step = :held AND #step_ms > :now_ms)";

/// Begins a query of one shard.
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
        .set_expression_attribute_names(Some(attribute_names(&[SHARD_KEY])))
        .expression_attribute_values(":shard", entry_items::partition_key(partition, shard))
}

/// Makes a query of one shard return only live entries and those whose slot is held at `now_ms`, in Unix milliseconds. Its
/// reads are strongly consistent.
pub(super) fn keep_live_entries(query: QueryFluentBuilder, now_ms: u64) -> QueryFluentBuilder {
    let query = query
        .consistent_read(true)
        .filter_expression(LIVE_OR_HELD)
        .set_expression_attribute_names(Some(attribute_names(&[SHARD_KEY, LIVE_OR_HELD])))
        .expression_attribute_values(":held", entry_items::number(Step::Held.number()))
        .expression_attribute_values(":now_ms", entry_items::number(now_ms));
    let statuses = entry_items::statuses(EntryState::is_live);
    statuses.fold(query, |query, (name, status)| {
        query.expression_attribute_values(name, status)
    })
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
        records.extend(read_record(partition, &item));
    }
    Ok(records)
}

/// Sends a query of one shard that reads `records_max` items behind the entry `after`.
pub(super) async fn read_page(
    partition: &EntryPartition,
    shard: u8,
    query: QueryFluentBuilder,
    after: Option<EntryId>,
    records_max: usize,
) -> Result<EntryPage, BackupError> {
    debug_assert!(
        after.is_none_or(|id| id.shard() == shard),
        "the entry is of the shard"
    );
    let page = query
        .set_exclusive_start_key(after.map(|id| entry_items::key(partition, id)))
        .limit(i32::try_from(records_max).unwrap_or(i32::MAX));
    let answer = page.send().await.map_err(|e| to_backup_error("Query", &e))?;
    let next_after = answer.last_evaluated_key().map(|key| {
        let entry = entry_items::required_text(key, entry_items::ENTRY)?;
        entry
            .parse()
            .map_err(|_| entry_items::invalid_attribute_error(entry_items::ENTRY))
    });
    let records = answer.items().iter();
    Ok(EntryPage {
        records: records.filter_map(|item| read_record(partition, item)).collect(),
        next_after: next_after.transpose()?,
    })
}

/// Reads one item. An item that was damaged by hand is logged and left out, so that the other entries are still returned.
fn read_record(partition: &EntryPartition, item: &Item) -> Option<EntryRecord> {
    match entry_items::to_record(item) {
        Ok(record) => Some(record),
        Err(error) => {
            let entry = entry_items::required_text(item, entry_items::ENTRY).unwrap_or_default();
            tracing::error!(
                event = "backup.entry_skipped", queue = %partition.queue, entry, %error,
                "skipped an item of the entries table that is not a readable entry: repair or delete the item"
            );
            None
        }
    }
}
