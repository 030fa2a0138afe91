//! The outboxes of the queues' events, in the entries table, since each promoter reads all of the queues table every three
//! seconds.
//!
//! ```text
//! shard             S   partition key: queue#events
//! entry             S   sort key: outbox
//! revision          N   how often it was replaced, from 1
//! outbox            S   the outbox, in JSON
//! delete_at_seconds N   the table's time to live
//! ```

use std::collections::HashMap;

use aws_sdk_dynamodb::{operation::put_item::PutItemError, types::AttributeValue};
use vestibule_backup::{BackupError, REPORT_RETAIN_MS, StoredOutbox};
use vestibule_domain::{event_outbox::EventOutbox, id::QueueId};

use super::{
    DynamoDbBackup,
    client::to_backup_error,
    entry_items::{
        DELETE_AT_SECONDS, ENTRY, Item, SHARD, attribute_names, invalid_attribute_error, number,
        required_number, required_text,
    },
};

const REVISION: &str = "revision";
const OUTBOX: &str = "outbox";

/// The sort key.
const OUTBOX_ENTRY: &str = "outbox";

const IS_ABSENT: &str = "attribute_not_exists(#shard)";
const HAS_REVISION: &str = "#revision = :expected";

impl DynamoDbBackup {
    pub(super) async fn get_outbox(&self, queue: &QueueId) -> Result<Option<StoredOutbox>, BackupError> {
        let request = self
            .client
            .get_item()
            .table_name(&self.tables.entries)
            .set_key(Some(outbox_key(queue)))
            .consistent_read(true);
        let answer = request.send().await.map_err(|e| to_backup_error("GetItem", &e))?;
        answer.item().map(to_stored_outbox).transpose()
    }

    pub(super) async fn put_outbox(
        &self,
        queue: &QueueId,
        expected_revision: u64,
        outbox: &EventOutbox,
        now_ms: u64,
    ) -> Result<bool, BackupError> {
        let json = serde_json::to_string(outbox)
            .map_err(|error| BackupError::Unreadable(format!("the events of {queue}: {error}")))?;
        let mut item = outbox_key(queue);
        let attributes = [
            (REVISION, number(expected_revision + 1)),
            (OUTBOX, AttributeValue::S(json)),
            (
                DELETE_AT_SECONDS,
                number((now_ms + REPORT_RETAIN_MS).div_ceil(1_000)),
            ),
        ];
        item.extend(attributes.map(|(name, value)| (name.to_owned(), value)));
        let request = self
            .client
            .put_item()
            .table_name(&self.tables.entries)
            .set_item(Some(item));
        let request = match expected_revision {
            0 => request
                .condition_expression(IS_ABSENT)
                .set_expression_attribute_names(Some(attribute_names(&[IS_ABSENT]))),
            expected => request
                .condition_expression(HAS_REVISION)
                .set_expression_attribute_names(Some(attribute_names(&[HAS_REVISION])))
                .expression_attribute_values(":expected", number(expected)),
        };
        match request.send().await {
            Ok(_) => Ok(true),
            Err(error) => match error.as_service_error() {
                Some(PutItemError::ConditionalCheckFailedException(_)) => Ok(false),
                _ => Err(to_backup_error("PutItem", &error)),
            },
        }
    }
}

/// A queue id contains no '#', and the shards of entries have a number in this place.
fn outbox_key(queue: &QueueId) -> Item {
    HashMap::from([
        (SHARD.to_owned(), AttributeValue::S(format!("{queue}#events"))),
        (ENTRY.to_owned(), AttributeValue::S(OUTBOX_ENTRY.to_owned())),
    ])
}

fn to_stored_outbox(item: &Item) -> Result<StoredOutbox, BackupError> {
    Ok(StoredOutbox {
        revision: required_number(item, REVISION)?,
        outbox: serde_json::from_str(required_text(item, OUTBOX)?)
            .map_err(|_| invalid_attribute_error(OUTBOX))?,
    })
}
