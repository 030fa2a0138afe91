//! What the report of a queue shows, in the entries table: its tallies and the orders that it got. They are not in the
//! queues table, because each promoter reads all of that one every three seconds.
//!
//! ```text
//! shard             S   partition key: queue#tally
//! entry             S   sort key: the generation, ten digits
//! salt              S   of the queue, so that a queue that was created again begins anew
//! epoch, v          N   the version of the last change that is counted
//! at_ms             N   when it was counted
//! tally             S   the tally, in JSON
//!
//! shard             S   partition key: queue#orders
//! entry             S   sort key: the number of the order modulo 200, three digits; so an order replaces the oldest one.
//!                       The item "count" has the number of the last order.
//! number, at_ms, op, caller, request_id, generation, arguments, settings_before, revision   N and S   the
//!                       order; the settings in JSON
//!
//! shard             S   partition key: queue#orders
//! entry             S   sort key: that of an order, and "#tokens"
//! number, tokens    N and S   the number of the order, and the tokens that it concerned, in JSON. Its time to live is theirs.
//!
//! delete_at_seconds N   the table's time to live
//! ```

use std::collections::{BTreeMap, HashMap};

use aws_sdk_dynamodb::{
    operation::put_item::PutItemError,
    types::{AttributeValue, ReturnValue},
};
use serde_json::json;
use vestibule_backup::{BackupError, ORDERS_KEPT, OperatorOrder, OrderLog, REPORT_RETAIN_MS};
use vestibule_domain::{
    change::Version,
    id::{QueueId, Salt},
    tally::TallySnapshot,
};

use super::{
    DynamoDbBackup,
    client::to_backup_error,
    entry_items::{
        DELETE_AT_SECONDS, ENTRY, EPOCH, Item, SHARD, V, attribute_names, invalid_attribute_error, number,
        required_number, required_text,
    },
};

const SALT: &str = "salt";
const AT_MS: &str = "at_ms";
const TALLY: &str = "tally";
const NUMBER: &str = "number";
const TOKENS: &str = "tokens";
/// The end of the sort key of an item with the tokens of an order.
const TOKENS_SUFFIX: &str = "#tokens";
const OP: &str = "op";
const CALLER: &str = "caller";
const REQUEST_ID: &str = "request_id";
const GENERATION: &str = "generation";
const ARGUMENTS: &str = "arguments";
const SETTINGS_BEFORE: &str = "settings_before";
const REVISION: &str = "revision";

/// The sort key of the item that counts the orders of a queue.
const COUNT_ENTRY: &str = "count";

/// As in [`TallySnapshot::supersedes`].
const SUPERSEDES: &str = "attribute_not_exists(#shard) OR #salt <> :salt OR #epoch < :epoch \
                          OR (#epoch = :epoch AND #v <= :v)";
const COUNT_ORDER: &str = "ADD #number :one SET #delete_at_seconds = :delete_at";
const OF_SHARD: &str = "#shard = :shard";

impl DynamoDbBackup {
    pub(super) async fn put_tally(
        &self,
        queue: &QueueId,
        snapshot: &TallySnapshot,
    ) -> Result<bool, BackupError> {
        let request = self
            .client
            .put_item()
            .table_name(&self.tables.entries)
            .set_item(Some(tally_item(queue, snapshot)?))
            .condition_expression(SUPERSEDES)
            .set_expression_attribute_names(Some(attribute_names(&[SUPERSEDES])))
            .expression_attribute_values(":salt", AttributeValue::S(snapshot.salt.to_text()))
            .expression_attribute_values(":epoch", number(snapshot.version.epoch))
            .expression_attribute_values(":v", number(snapshot.version.v));
        match request.send().await {
            Ok(_) => Ok(true),
            Err(error) => match error.as_service_error() {
                Some(PutItemError::ConditionalCheckFailedException(_)) => Ok(false),
                _ => Err(to_backup_error("PutItem", &error)),
            },
        }
    }

    pub(super) async fn query_tally(
        &self,
        queue: &QueueId,
        generation: Option<u32>,
    ) -> Result<Option<TallySnapshot>, BackupError> {
        if let Some(generation) = generation {
            let request = self
                .client
                .get_item()
                .table_name(&self.tables.entries)
                .set_key(Some(item_key(tally_shard(queue), tally_entry(generation))))
                .consistent_read(true);
            let answer = request.send().await.map_err(|e| to_backup_error("GetItem", &e))?;
            return answer.item().map(to_snapshot).transpose();
        }
        let last = self.query_items(tally_shard(queue), 1).await?;
        last.first().map(to_snapshot).transpose()
    }

    /// Gives the order the next number, and writes it over the one that falls out. If the process dies in between, the
    /// log lacks this order.
    pub(super) async fn put_order(&self, queue: &QueueId, order: &OperatorOrder) -> Result<(), BackupError> {
        let shard = orders_shard(queue);
        let count = self
            .client
            .update_item()
            .table_name(&self.tables.entries)
            .set_key(Some(item_key(shard.clone(), COUNT_ENTRY.to_owned())))
            .update_expression(COUNT_ORDER)
            .set_expression_attribute_names(Some(attribute_names(&[COUNT_ORDER])))
            .expression_attribute_values(":one", number(1_u32))
            .expression_attribute_values(":delete_at", delete_at_seconds(order.at_ms))
            .return_values(ReturnValue::UpdatedNew);
        let counted = count
            .send()
            .await
            .map_err(|e| to_backup_error("UpdateItem", &e))?;
        let counted = counted
            .attributes()
            .ok_or_else(|| invalid_attribute_error(NUMBER))?;
        let order_number: u64 = required_number(counted, NUMBER)?;
        let entry = format!("{:03}", order_number % ORDERS_KEPT as u64);
        // First: an order in the log without its tokens would say that it concerned no entry.
        if let Some(until_ms) = order.tokens_until_ms {
            let mut item = item_key(shard.clone(), format!("{entry}{TOKENS_SUFFIX}"));
            let attributes = [
                (NUMBER, number(order_number)),
                (TOKENS, AttributeValue::S(json!(order.tokens).to_string())),
                (DELETE_AT_SECONDS, number(until_ms.div_ceil(1_000))),
            ];
            item.extend(attributes.map(|(name, value)| (name.to_owned(), value)));
            self.put_report_item(item).await?;
        }
        let mut item = item_key(shard, entry);
        item.extend(order_attributes(order_number, order));
        self.put_report_item(item).await
    }

    async fn put_report_item(&self, item: Item) -> Result<(), BackupError> {
        let put = self
            .client
            .put_item()
            .table_name(&self.tables.entries)
            .set_item(Some(item));
        put.send().await.map_err(|e| to_backup_error("PutItem", &e))?;
        Ok(())
    }

    pub(super) async fn query_orders(&self, queue: &QueueId) -> Result<OrderLog, BackupError> {
        // The sort key of the count is behind those of the orders.
        let items = self.query_items(orders_shard(queue), 2 * ORDERS_KEPT + 1).await?;
        let (mut orders, mut tokens, mut count) = (BTreeMap::new(), HashMap::new(), 0);
        for item in &items {
            let (entry, order_number) = (required_text(item, ENTRY)?, required_number::<u64>(item, NUMBER)?);
            if entry == COUNT_ENTRY {
                count = order_number;
            } else if entry.ends_with(TOKENS_SUFFIX) {
                tokens.insert(order_number, to_tokens(item)?);
            } else {
                orders.insert(order_number, to_order(item)?);
            }
        }
        for (order_number, order) in &mut orders {
            if let Some((listed, until_ms)) = tokens.remove(order_number) {
                (order.tokens, order.tokens_until_ms) = (listed, Some(until_ms));
            }
        }
        Ok(OrderLog {
            orders: orders.into_values().collect(),
            count,
        })
    }

    /// Reads the items of a partition with the highest sort keys.
    async fn query_items(&self, shard: String, items_max: usize) -> Result<Vec<Item>, BackupError> {
        let pages = self
            .client
            .query()
            .table_name(&self.tables.entries)
            .consistent_read(true)
            .scan_index_forward(false)
            .key_condition_expression(OF_SHARD)
            .set_expression_attribute_names(Some(attribute_names(&[OF_SHARD])))
            .expression_attribute_values(":shard", AttributeValue::S(shard))
            .into_paginator()
            .page_size(i32::try_from(items_max).unwrap_or(i32::MAX));
        // An answer ends after 1 MB, and the messages before a change may be longer together.
        let mut all = pages.items().send();
        let mut items = Vec::new();
        while let Some(item) = all.next().await {
            items.push(item.map_err(|e| to_backup_error("Query", &e))?);
            if items.len() == items_max {
                break;
            }
        }
        Ok(items)
    }
}

/// A queue id contains no '#', and the shards of entries have a number in this place.
fn tally_shard(queue: &QueueId) -> String {
    format!("{queue}#tally")
}

fn orders_shard(queue: &QueueId) -> String {
    format!("{queue}#orders")
}

fn tally_entry(generation: u32) -> String {
    format!("{generation:010}")
}

fn item_key(shard: String, entry: String) -> Item {
    HashMap::from([
        (SHARD.to_owned(), AttributeValue::S(shard)),
        (ENTRY.to_owned(), AttributeValue::S(entry)),
    ])
}

fn delete_at_seconds(at_ms: u64) -> AttributeValue {
    number((at_ms + REPORT_RETAIN_MS).div_ceil(1_000))
}

fn tally_item(queue: &QueueId, snapshot: &TallySnapshot) -> Result<Item, BackupError> {
    let tally = serde_json::to_string(&snapshot.tally)
        .map_err(|error| BackupError::Unreadable(format!("the tally of {queue}: {error}")))?;
    let mut item = item_key(tally_shard(queue), tally_entry(snapshot.generation));
    let attributes = [
        (SALT, AttributeValue::S(snapshot.salt.to_text())),
        (EPOCH, number(snapshot.version.epoch)),
        (V, number(snapshot.version.v)),
        (AT_MS, number(snapshot.at_ms)),
        (TALLY, AttributeValue::S(tally)),
        (DELETE_AT_SECONDS, delete_at_seconds(snapshot.at_ms)),
    ];
    item.extend(attributes.map(|(name, value)| (name.to_owned(), value)));
    Ok(item)
}

fn to_snapshot(item: &Item) -> Result<TallySnapshot, BackupError> {
    let generation = required_text(item, ENTRY)?.parse();
    Ok(TallySnapshot {
        generation: generation.map_err(|_| invalid_attribute_error(ENTRY))?,
        salt: Salt::from_text(required_text(item, SALT)?).ok_or_else(|| invalid_attribute_error(SALT))?,
        version: Version {
            epoch: required_number(item, EPOCH)?,
            v: required_number(item, V)?,
        },
        at_ms: required_number(item, AT_MS)?,
        tally: serde_json::from_str(required_text(item, TALLY)?)
            .map_err(|_| invalid_attribute_error(TALLY))?,
    })
}

fn order_attributes(order_number: u64, order: &OperatorOrder) -> Item {
    let text = |text: &String| AttributeValue::S(text.clone());
    let before = &order.settings_before;
    let attributes = [
        (NUMBER, Some(number(order_number))),
        (AT_MS, Some(number(order.at_ms))),
        (OP, Some(text(&order.op))),
        (CALLER, order.caller.as_ref().map(text)),
        (REQUEST_ID, order.request_id.as_ref().map(text)),
        (GENERATION, Some(number(order.generation))),
        (ARGUMENTS, Some(text(&order.arguments))),
        (
            SETTINGS_BEFORE,
            (!before.is_empty()).then(|| AttributeValue::S(json!(before).to_string())),
        ),
        (REVISION, order.revision.as_ref().map(text)),
        (DELETE_AT_SECONDS, Some(delete_at_seconds(order.at_ms))),
    ];
    let set = attributes.into_iter();
    set.filter_map(|(name, value)| Some((name.to_owned(), value?)))
        .collect()
}

/// The tokens of an order, and until when the log keeps them, in Unix milliseconds.
fn to_tokens(item: &Item) -> Result<(Vec<String>, u64), BackupError> {
    let tokens = serde_json::from_str(required_text(item, TOKENS)?);
    let until_seconds: u64 = required_number(item, DELETE_AT_SECONDS)?;
    Ok((
        tokens.map_err(|_| invalid_attribute_error(TOKENS))?,
        until_seconds * 1_000,
    ))
}

fn to_order(item: &Item) -> Result<OperatorOrder, BackupError> {
    let text = |name: &str| required_text(item, name).map(str::to_owned);
    let optional_text = |name: &str| item.contains_key(name).then(|| text(name)).transpose();
    let before = optional_text(SETTINGS_BEFORE)?
        .map(|json| serde_json::from_str(&json).map_err(|_| invalid_attribute_error(SETTINGS_BEFORE)));
    Ok(OperatorOrder {
        at_ms: required_number(item, AT_MS)?,
        op: text(OP)?,
        caller: optional_text(CALLER)?,
        request_id: optional_text(REQUEST_ID)?,
        generation: required_number(item, GENERATION)?,
        arguments: text(ARGUMENTS)?,
        tokens: Vec::new(),
        tokens_until_ms: None,
        settings_before: before.transpose()?.unwrap_or_default(),
        revision: optional_text(REVISION)?,
    })
}
