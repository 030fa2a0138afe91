//! Fills the table directly, with 25 items a request. Conditional writes of single items would take longer than
//! the measurement.

use std::{
    collections::HashMap,
    error::Error,
    time::{SystemTime, UNIX_EPOCH},
};

use aws_config::BehaviorVersion;
use aws_sdk_dynamodb::{
    Client,
    types::{AttributeValue, PutRequest, WriteRequest},
};
use futures_util::{StreamExt, TryStreamExt, stream};
use vestibule_backup::EntryPartition;
use vestibule_backup_dynamodb::TableNames;
use vestibule_domain::{
    id::{EntryId, IdKey, RootKey, Salt, Visitor},
    score::WaitScore,
};

/// The most items of a request.
const ITEMS: usize = 25;
/// The number of requests in flight.
const REQUESTS: usize = 8;
/// Writes this many waiting entries, which joined one millisecond after the other.
pub(crate) async fn fill_table(
    url: &str,
    partition: &EntryPartition,
    entries: usize,
) -> Result<(), Box<dyn Error>> {
    let config = aws_config::defaults(BehaviorVersion::latest())
        .endpoint_url(url)
        .load()
        .await;
    let client = Client::new(&config);
    // The emulator deletes expired items, so the entries must be recent.
    let now_ms = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis();
    let first_ms = u64::try_from(now_ms)?.saturating_sub(entries as u64);
    let root = RootKey::new(vec![1; 32]).expect("the key has 32 bytes");
    let key =
        IdKey::derive_for_queue(&root, &partition.queue, &Salt::new([2; 32])).expect("the key of the salt");
    let requests = (0..entries.div_ceil(ITEMS)).map(|nth| {
        let puts = (nth * ITEMS..entries.min((nth + 1) * ITEMS)).map(|number| {
            let visitor = Visitor::known(&number.to_string()).expect("the visitor id is valid");
            build_put(partition, key.entry_id(&visitor), first_ms + number as u64)
        });
        let puts: Vec<_> = puts.collect();
        let client = client.clone();
        async move { write_items(&client, puts).await }
    });
    stream::iter(requests)
        .buffer_unordered(REQUESTS)
        .try_collect()
        .await
}

async fn write_items(client: &Client, mut puts: Vec<WriteRequest>) -> Result<(), Box<dyn Error>> {
    let table = TableNames::default().entries;
    while !puts.is_empty() {
        let written = client
            .batch_write_item()
            .request_items(&table, puts)
            .send()
            .await?;
        puts = written
            .unprocessed_items
            .and_then(|mut left| left.remove(&table))
            .unwrap_or_default();
    }
    Ok(())
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
