//! Fills the table directly, with 25 items a request. Conditional writes of single items would take longer than
//! the measurement.

use std::collections::HashMap;

use aws_config::BehaviorVersion;
use aws_sdk_dynamodb::{
    Client,
    types::{AttributeValue, PutRequest, WriteRequest},
};
use futures_util::{StreamExt, TryStreamExt, stream};
use vestibule_backup::EntryPartition;
use vestibule_backup_dynamodb::TableNames;
use vestibule_domain::{id::EntryId, score::WaitScore};
use vestibule_tests::{entries::now_ms, lines::visitor};

use crate::BenchResult;

/// The most items of a request.
const ITEMS: usize = 25;
/// The number of requests in flight.
const REQUESTS: usize = 8;

/// The tables of the benchmark.
pub(crate) struct Table {
    client: Client,
    names: TableNames,
}

impl Table {
    pub(crate) async fn connect(url: &str, names: TableNames) -> Self {
        let config = aws_config::defaults(BehaviorVersion::latest());
        let config = config.endpoint_url(url).load().await;
        Self {
            client: Client::new(&config),
            names,
        }
    }

    /// Writes this many waiting entries, which joined one millisecond after the other.
    pub(crate) async fn fill(&self, partition: &EntryPartition, entries: usize) -> BenchResult {
        // The emulator deletes expired items, so the entries must be recent.
        let first_ms = now_ms() - entries as u64;
        let requests = (0..entries.div_ceil(ITEMS)).map(|nth| {
            let numbers = nth * ITEMS..entries.min((nth + 1) * ITEMS);
            let puts = numbers.map(|number| {
                let number = number as u64;
                build_put(partition, visitor(number), first_ms + number)
            });
            self.write_items(puts.collect())
        });
        stream::iter(requests)
            .buffer_unordered(REQUESTS)
            .try_collect()
            .await
    }

    async fn write_items(&self, mut puts: Vec<WriteRequest>) -> BenchResult {
        let table = &self.names.entries;
        while !puts.is_empty() {
            let write = self.client.batch_write_item().request_items(table, puts);
            let left = write.send().await?.unprocessed_items;
            puts = left.and_then(|mut left| left.remove(table)).unwrap_or_default();
        }
        Ok(())
    }

    /// Deletes the tables, so that a later run has an emulator without them.
    pub(crate) async fn delete(&self) -> BenchResult {
        for name in [&self.names.entries, &self.names.queues] {
            self.client.delete_table().table_name(name).send().await?;
        }
        Ok(())
    }
}

/// The item that the backup writes when a visitor enters.
fn build_put(partition: &EntryPartition, id: EntryId, joined_at_ms: u64) -> WriteRequest {
    let score = WaitScore::next(0, joined_at_ms);
    let text = AttributeValue::S;
    let number = |value: u64| AttributeValue::N(value.to_string());
    let item = HashMap::from([
        (
            "shard",
            text(format!(
                "{}#{}#{}",
                partition.queue,
                partition.generation,
                id.shard()
            )),
        ),
        ("entry", text(id.to_string())),
        ("status", text("WAITING".to_owned())),
        ("epoch", number(1)),
        ("v", number(joined_at_ms * 1_000)),
        ("visit", number(score.visit().number())),
        ("step", number(0)),
        ("step_ms", number(0)),
        ("over", number(0)),
        ("score", number(score.raw())),
        ("lane", number(0)),
        ("joined_at_ms", number(joined_at_ms)),
        (
            "delete_at_seconds",
            number(joined_at_ms / 1_000 + 30 * 24 * 3_600),
        ),
    ]);
    let item = item.into_iter().map(|(name, value)| (name.to_owned(), value));
    let put = PutRequest::builder().set_item(Some(item.collect()));
    let put = put.build().expect("the request has an item");
    WriteRequest::builder().put_request(put).build()
}
