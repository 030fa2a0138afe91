//! Adds a queue, replaces its settings, and replaces a queue by its tombstone.

use aws_sdk_dynamodb::{
    error::BuildError,
    operation::{transact_write_items::TransactWriteItemsError, update_item::UpdateItemError},
    types::{
        ConditionCheck, Delete, Put, ReturnValue, ReturnValuesOnConditionCheckFailure, TransactWriteItem,
        builders::PutBuilder,
    },
};
use serde_json::{Map, Value};
use uuid::Uuid;
use vestibule_backup::{Backup, BackupError, QueueLookup, StoredQueue, StoredSettings};
use vestibule_domain::{id::QueueId, tombstone::Tombstone};

use super::{
    DynamoDbBackup,
    client::to_backup_error,
    entry_items::{self, Item, attribute_names, number},
    queue_items, setting_values,
};

impl DynamoDbBackup {
    pub(super) async fn add_queue(&self, queue: &QueueId, stored: &StoredQueue) -> Result<bool, BackupError> {
        let [settings, line] = queue_items::to_items(queue, stored);
        let metadata = &stored.metadata;
        // The condition on this item makes the creation exclusive. So settings that were left behind beside a tombstone may
        // be replaced, and beside nothing they are half a queue, which stays for its author to look at.
        let is_free = "attribute_not_exists(#queue)";
        let is_deleted = "attribute_exists(#deleted_at_ms) AND #epoch < :epoch AND #generation < :generation";
        let line = self
            .put_queue_item(line, &format!("{is_free} OR ({is_deleted})"))
            .expression_attribute_values(":epoch", number(metadata.epoch))
            .expression_attribute_values(":generation", number(metadata.generation));
        let settings = if metadata.generation > 1 {
            Put::builder()
                .table_name(&self.tables.queues)
                .set_item(Some(settings))
        } else {
            self.put_queue_item(settings, is_free)
        };
        let writes = [to_write(line.build())?, to_write(settings.build())?];
        let expected = QueueLookup::Present(stored.clone());
        self.write_or_compare(queue, writes, &expected).await
    }

    pub(super) async fn replace_queue_by_tombstone(
        &self,
        queue: &QueueId,
        epoch: u32,
        tombstone: &Tombstone,
    ) -> Result<bool, BackupError> {
        let item = queue_items::to_tombstone_item(queue, tombstone);
        let is_of_epoch = "#epoch = :epoch AND attribute_not_exists(#deleted_at_ms)";
        let line = self
            .put_queue_item(item, is_of_epoch)
            .expression_attribute_values(":epoch", number(epoch));
        let settings = Delete::builder()
            .table_name(&self.tables.queues)
            .set_key(Some(queue_items::key(queue.as_str(), queue_items::SETTINGS_PART)))
            .build()
            .map_err(build_error)?;
        let settings = TransactWriteItem::builder().delete(settings).build();
        let expected = QueueLookup::Deleted(*tombstone);
        self.write_or_compare(queue, [to_write(line.build())?, settings], &expected)
            .await
    }

    pub(super) async fn put_tombstone(
        &self,
        queue: &QueueId,
        tombstone: &Tombstone,
    ) -> Result<bool, BackupError> {
        let is_free = "attribute_not_exists(#queue)";
        let line = self.put_queue_item(queue_items::to_tombstone_item(queue, tombstone), is_free);
        let settings = ConditionCheck::builder()
            .table_name(&self.tables.queues)
            .set_key(Some(queue_items::key(queue.as_str(), queue_items::SETTINGS_PART)))
            .condition_expression(is_free)
            .set_expression_attribute_names(Some(attribute_names(&[is_free])))
            .build()
            .map_err(build_error)?;
        let settings = TransactWriteItem::builder().condition_check(settings).build();
        let expected = QueueLookup::Deleted(*tombstone);
        self.write_or_compare(queue, [to_write(line.build())?, settings], &expected)
            .await
    }

    /// A put of an item of the queues table under a condition.
    fn put_queue_item(&self, item: Item, condition: &str) -> PutBuilder {
        Put::builder()
            .table_name(&self.tables.queues)
            .set_item(Some(item))
            .condition_expression(condition)
            .set_expression_attribute_names(Some(attribute_names(&[condition])))
    }

    /// Writes both items of a queue in one transaction. Returns whether the backup has what was to be written,
    /// also if an earlier attempt of this call succeeded and its answer was lost.
    async fn write_or_compare(
        &self,
        queue: &QueueId,
        writes: [TransactWriteItem; 2],
        expected: &QueueLookup,
    ) -> Result<bool, BackupError> {
        // A random UUID of the operating system. The SDK's own tokens come from a generator that is
        // seeded with the time alone.
        let token = Uuid::new_v4().to_string();
        let request = self.client.transact_write_items().client_request_token(token);
        match request.set_transact_items(Some(writes.into())).send().await {
            Ok(_) => Ok(true),
            Err(error) => match error.as_service_error() {
                Some(TransactWriteItemsError::TransactionCanceledException(canceled))
                    if canceled
                        .cancellation_reasons()
                        .iter()
                        .any(|reason| reason.code() == Some("ConditionalCheckFailed")) =>
                {
                    self.has_stored(queue, expected).await
                }
                // No other caller has this token.
                Some(TransactWriteItemsError::IdempotentParameterMismatchException(_)) => {
                    self.has_stored(queue, expected).await
                }
                _ => Err(to_backup_error("TransactWriteItems", &error)),
            },
        }
    }

    async fn has_stored(&self, queue: &QueueId, expected: &QueueLookup) -> Result<bool, BackupError> {
        match self.look_up_queue(queue).await {
            Ok(found) => Ok(found == *expected),
            // Whatever is there was not written here.
            Err(BackupError::Unreadable(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    pub(super) async fn replace_stored_settings(
        &self,
        queue: &QueueId,
        expected: &StoredSettings,
        settings: &Map<String, Value>,
    ) -> Result<Option<u64>, BackupError> {
        let update = "SET #settings = :settings ADD #settings_order :one";
        let expected = setting_values::from_stored(expected);
        let condition = match expected {
            Some(_) => "#settings = :expected",
            // The settings are absent from a queue that exists.
            None => "attribute_exists(#queue) AND attribute_not_exists(#settings)",
        };
        let mut request = self
            .client
            .update_item()
            .table_name(&self.tables.queues)
            .set_key(Some(queue_items::key(queue.as_str(), queue_items::SETTINGS_PART)))
            .update_expression(update)
            .condition_expression(condition)
            .set_expression_attribute_names(Some(attribute_names(&[update, condition])))
            .expression_attribute_values(":settings", setting_values::from_settings(settings))
            .expression_attribute_values(":one", number(1_u32))
            .return_values(ReturnValue::UpdatedNew)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        if let Some(expected) = expected {
            request = request.expression_attribute_values(":expected", expected);
        }
        match request.send().await {
            Ok(updated) => {
                let new = updated
                    .attributes()
                    .ok_or_else(|| entry_items::invalid_attribute_error(setting_values::SETTINGS))?;
                queue_items::to_settings_order(new).map(Some)
            }
            Err(error) => match error.as_service_error() {
                Some(UpdateItemError::ConditionalCheckFailedException(refused)) => match refused.item() {
                    // An earlier attempt of this call succeeded, and its answer was lost.
                    Some(item) if setting_values::to_settings(item).as_map() == Some(settings) => {
                        queue_items::to_settings_order(item).map(Some)
                    }
                    _ => Ok(None),
                },
                _ => Err(to_backup_error("UpdateItem", &error)),
            },
        }
    }
}

fn to_write(put: Result<Put, BuildError>) -> Result<TransactWriteItem, BackupError> {
    let put = put.map_err(build_error)?;
    Ok(TransactWriteItem::builder().put(put).build())
}

#[allow(clippy::needless_pass_by_value)] // the signature that `map_err` needs
fn build_error(error: BuildError) -> BackupError {
    BackupError::Unavailable(error.to_string())
}
