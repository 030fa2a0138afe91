//! Lists the queues with one scan of the queues table, whose items hold everything that their fingerprints cover.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::types::AttributeValue;
use vestibule_backup::{BackupError, QueueFingerprint, QueueListing, QueueLookup};
use vestibule_domain::id::QueueId;

use super::{
    DynamoDbBackup,
    client::to_backup_error,
    entry_items::{Item, attribute_names, required_text},
    queue_items::{self, METADATA_PART, SETTINGS_PART},
};

/// The attributes that a fingerprint or a tombstone covers. The table may hold more of a queue.
const FINGERPRINTED: &str = "#queue, #part, #settings, #settings_order, #layout, #epoch, #generation, #min_epoch, #salt, \
     #deleted_at_ms";

/// The items of a queue. The table has other items too, such as the defaults of a pattern.
const OF_QUEUE: &str = "#part IN (:settings, :line)";

impl DynamoDbBackup {
    pub(super) async fn scan_queues(&self) -> Result<QueueListing, BackupError> {
        let scan = self
            .client
            .scan()
            .table_name(&self.tables.queues)
            .consistent_read(true)
            .projection_expression(FINGERPRINTED)
            .filter_expression(OF_QUEUE)
            .set_expression_attribute_names(Some(attribute_names(&[FINGERPRINTED, OF_QUEUE])))
            .expression_attribute_values(":settings", AttributeValue::S(SETTINGS_PART.to_owned()))
            .expression_attribute_values(":line", AttributeValue::S(METADATA_PART.to_owned()))
            .set_limit(self.page_items);
        let mut items = scan.into_paginator().items().send();
        // A queue has two items. It is listed if either exists, so that a queue with one item deleted by
        // hand is still found.
        let mut queues: BTreeMap<String, Vec<Item>> = BTreeMap::new();
        while let Some(item) = items.next().await {
            let item = item.map_err(|e| to_backup_error("Scan", &e))?;
            let name = required_text(&item, queue_items::QUEUE)?.to_owned();
            queues.entry(name).or_default().push(item);
        }
        let mut listing = QueueListing::default();
        for (name, items) in queues {
            if let Some(queue) = parse_name(&name) {
                add_to_listing(&mut listing, queue, &items);
            }
        }
        Ok(listing)
    }
}

fn add_to_listing(listing: &mut QueueListing, queue: QueueId, items: &[Item]) {
    let fingerprint = match queue_items::from_items(items) {
        Ok(QueueLookup::Present(stored)) => QueueFingerprint::of_stored(Ok(&stored)),
        Ok(QueueLookup::Deleted(tombstone)) => return listing.deleted.push((queue, tombstone)),
        Ok(QueueLookup::Absent) => return,
        Err(error) => QueueFingerprint::of_stored(Err(&error)),
    };
    listing.queues.push((queue, fingerprint));
}

fn parse_name(name: &str) -> Option<QueueId> {
    match name.parse() {
        Ok(queue) => Some(queue),
        // The item was written by hand. The other queues are still returned.
        Err(error) => {
            tracing::warn!(
                event = "backup.queue_skipped", queue = name, %error,
                "skipped an item of the queues table whose name is not a queue id: rename or delete the item"
            );
            None
        }
    }
}
