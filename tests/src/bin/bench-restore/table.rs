//! Fills the table past the backup, 25 items a request: one conditional write each would take longer than all the rest.

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

/// As many as one request takes.
const ITEMS: usize = 25;
/// Requests under way at once.
const REQUESTS: usize = 8;
/// So many entries wait, each a millisecond behind the one before.
pub(crate) async fn fill(url: &str, shelf: &EntryPartition, entries: usize) -> Result<(), Box<dyn Error>> {
    let config = aws_config::defaults(BehaviorVersion::latest())
        .endpoint_url(url)
        .load()
        .await;
    let client = Client::new(&config);
    // The emulator deletes what may be deleted by now.
    let now_ms = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis();
    let first_ms = u64::try_from(now_ms)?.saturating_sub(entries as u64);
    let root = RootKey::new(vec![1; 32]).expect("long enough");
    let key = IdKey::derive_for_queue(&root, &shelf.queue, &Salt::new([2; 32]));
    let requests = (0..entries.div_ceil(ITEMS)).map(|nth| {
        let puts = (nth * ITEMS..entries.min((nth + 1) * ITEMS)).map(|number| {
            let visitor = Visitor::known(&number.to_string()).expect("a visitor id");
            put(shelf, key.entry_id(&visitor), first_ms + number as u64)
        });
        let puts: Vec<_> = puts.collect();
        let client = client.clone();
        async move { write(&client, puts).await }
    });
    stream::iter(requests)
        .buffer_unordered(REQUESTS)
        .try_collect()
        .await
}

async fn write(client: &Client, mut puts: Vec<WriteRequest>) -> Result<(), Box<dyn Error>> {
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

/// As the backup writes one who has entered.
fn put(shelf: &EntryPartition, id: EntryId, joined_at_ms: u64) -> WriteRequest {
    let score = WaitScore::next(0, joined_at_ms);
    let text = AttributeValue::S;
    let whole = |value: u64| AttributeValue::N(value.to_string());
    let item = HashMap::from([
        (
            "shard",
            text(format!("{}#{}#{}", shelf.queue, shelf.generation, id.shard())),
        ),
        ("entry", text(id.to_string())),
        ("status", text("WAITING".to_owned())),
        ("epoch", whole(1)),
        ("v", whole(joined_at_ms * 1_000)),
        ("visit", whole(score.visit().number().into())),
        ("score", whole(score.raw())),
        ("lane", whole(0)),
        ("joined_at_ms", whole(joined_at_ms)),
        ("delete_at_seconds", whole(joined_at_ms / 1_000 + 30 * 24 * 3_600)),
    ]);
    let item = item.into_iter().map(|(name, value)| (name.to_owned(), value));
    let put = PutRequest::builder().set_item(Some(item.collect()));
    let put = put.build().expect("it has an item");
    WriteRequest::builder().put_request(put).build()
}
