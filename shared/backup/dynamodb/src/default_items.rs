//! The defaults of patterns in the queues table, where operators edit them.
//!
//! ```text
//! queue      S   partition key: the pattern, for example "TICKET:*"
//! part       S   sort key: "defaults"
//! settings   M   plain values, by the names of the settings, as in the item of a queue
//! ```

use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue};
use serde_json::{Map, Value};
use vestibule_backup::{BackupError, StoredDefaults};
use vestibule_domain::queue_pattern::QueuePattern;

use super::{
    DynamoDbBackup,
    client::to_backup_error,
    entry_items::{Item, attribute_names, required_text},
    queue_items::{self, QUEUE},
    setting_values::{self, SETTINGS},
};

/// The sort key of the item of a pattern.
const DEFAULTS_PART: &str = "defaults";
const OF_PATTERN: &str = "#part = :defaults";

impl DynamoDbBackup {
    pub(super) async fn scan_defaults(&self) -> Result<Vec<StoredDefaults>, BackupError> {
        let scan = self
            .client
            .scan()
            .table_name(&self.tables.queues)
            .consistent_read(true)
            .filter_expression(OF_PATTERN)
            .set_expression_attribute_names(Some(attribute_names(&[OF_PATTERN])))
            .expression_attribute_values(":defaults", AttributeValue::S(DEFAULTS_PART.to_owned()))
            .set_limit(self.page_items);
        let mut items = scan.into_paginator().items().send();
        let mut defaults = Vec::new();
        while let Some(item) = items.next().await {
            let item = item.map_err(|e| to_backup_error("Scan", &e))?;
            defaults.push(StoredDefaults {
                pattern: required_text(&item, QUEUE)?.to_owned(),
                settings: setting_values::to_settings(&item),
            });
        }
        Ok(defaults)
    }

    pub(super) async fn put_defaults(
        &self,
        pattern: &QueuePattern,
        settings: &Map<String, Value>,
    ) -> Result<bool, BackupError> {
        let mut item = item_key(pattern);
        item.insert(SETTINGS.to_owned(), setting_values::from_settings(settings));
        let request = self
            .client
            .put_item()
            .table_name(&self.tables.queues)
            .set_item(Some(item))
            .return_values(ReturnValue::AllOld);
        let before = request.send().await.map_err(|e| to_backup_error("PutItem", &e))?;
        Ok(before.attributes().is_some_and(|item| !item.is_empty()))
    }

    pub(super) async fn delete_defaults(&self, pattern: &QueuePattern) -> Result<bool, BackupError> {
        let request = self
            .client
            .delete_item()
            .table_name(&self.tables.queues)
            .set_key(Some(item_key(pattern)))
            .return_values(ReturnValue::AllOld);
        let before = request
            .send()
            .await
            .map_err(|e| to_backup_error("DeleteItem", &e))?;
        Ok(before.attributes().is_some_and(|item| !item.is_empty()))
    }
}

fn item_key(pattern: &QueuePattern) -> Item {
    queue_items::key(&pattern.to_string(), DEFAULTS_PART)
}
