//! Adds a queue, and replaces its settings.

use aws_sdk_dynamodb::{
    operation::{transact_write_items::TransactWriteItemsError, update_item::UpdateItemError},
    types::{Put, ReturnValue, ReturnValuesOnConditionCheckFailure, TransactWriteItem},
};
use serde_json::{Map, Value};
use uuid::Uuid;
use vestibule_backup::{Backup, BackupError, StoredQueue, StoredSettings};
use vestibule_domain::id::QueueId;

use super::{
    DynamoDbBackup,
    client::to_backup_error,
    entry_items::{self, attribute_names},
    queue_items,
};

impl DynamoDbBackup {
    pub(super) async fn add_queue(&self, queue: &QueueId, stored: &StoredQueue) -> Result<bool, BackupError> {
        let condition = "attribute_not_exists(#queue)";
        // A random UUID of the operating system. The SDK's own tokens come from a generator that is
        // seeded with the time alone.
        let token = Uuid::new_v4().to_string();
        let mut request = self.client.transact_write_items().client_request_token(token);
        for part in queue_items::to_items(queue, stored) {
            let put = Put::builder()
                .table_name(&self.tables.queues)
                .set_item(Some(part))
                .condition_expression(condition)
                .set_expression_attribute_names(Some(attribute_names(&[condition])))
                .build()
                .map_err(|error| BackupError::Unavailable(error.to_string()))?;
            request = request.transact_items(TransactWriteItem::builder().put(put).build());
        }
        match request.send().await {
            Ok(_) => Ok(true),
            Err(error) => match error.as_service_error() {
                Some(TransactWriteItemsError::TransactionCanceledException(canceled))
                    if canceled
                        .cancellation_reasons()
                        .iter()
                        .any(|reason| reason.code() == Some("ConditionalCheckFailed")) =>
                {
                    Ok(false)
                }
                // No other caller has this token. An earlier attempt of this call succeeded, and
                // its answer was lost.
                Some(TransactWriteItemsError::IdempotentParameterMismatchException(_)) => {
                    Ok(self.read_queue(queue).await?.as_ref() == Some(stored))
                }
                _ => Err(to_backup_error("TransactWriteItems", &error)),
            },
        }
    }

    pub(super) async fn replace_stored_settings(
        &self,
        queue: &QueueId,
        expected: &StoredSettings,
        settings: &Map<String, Value>,
    ) -> Result<Option<u64>, BackupError> {
        let update = "SET #settings = :settings ADD #settings_order :one";
        let expected = queue_items::from_stored(expected);
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
            .expression_attribute_values(":settings", queue_items::from_settings(settings))
            .expression_attribute_values(":one", entry_items::number(1_u32))
            .return_values(ReturnValue::UpdatedNew)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        if let Some(expected) = expected {
            request = request.expression_attribute_values(":expected", expected);
        }
        match request.send().await {
            Ok(updated) => {
                let new = updated
                    .attributes()
                    .ok_or_else(|| entry_items::invalid_attribute_error(queue_items::SETTINGS))?;
                queue_items::to_settings_order(new).map(Some)
            }
            Err(error) => match error.as_service_error() {
                Some(UpdateItemError::ConditionalCheckFailedException(refused)) => match refused.item() {
                    // An earlier attempt of this call succeeded, and its answer was lost.
                    Some(item) if queue_items::to_settings(item).as_map() == Some(settings) => {
                        queue_items::to_settings_order(item).map(Some)
                    }
                    _ => Ok(None),
                },
                _ => Err(to_backup_error("UpdateItem", &error)),
            },
        }
    }
}
