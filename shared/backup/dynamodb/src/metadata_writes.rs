//! Changes Vestibule's own metadata of a queue. Each change requires that the epoch is the expected one
//! (compare-and-swap).

use std::collections::HashMap;

use aws_sdk_dynamodb::{
    operation::update_item::UpdateItemError,
    types::{AttributeValue, ReturnValue, ReturnValuesOnConditionCheckFailure},
};
use uuid::Uuid;
use vestibule_backup::{BackupError, LEASE_PLAUSIBLE_MAX_MS, Lease, LeaseOutcome, QueueMetadata};
use vestibule_domain::{
    configuration::LAYOUT,
    id::{QueueId, RootFingerprint, Salt},
    kept_times::KeptTimes,
};

use super::{
    DynamoDbBackup,
    client::to_backup_error,
    entry_items::{self, Item, attribute_names, number},
    queue_items,
};

const IS_LEASE_HOLDER: &str = "#epoch = :epoch AND #lease_holder = :holder";
/// The queue has the epoch, and is not a tombstone. No process reads the epoch of a tombstone as that of a queue, so the
/// other changes need no such condition. The fence has none, because functions that may change the fence alone could
/// not name the attribute.
const IS_OF_EPOCH: &str = "#epoch = :epoch AND attribute_not_exists(#deleted_at_ms)";

/// The outcome of a conditional change.
enum Attempt {
    /// The change was made. This is the metadata after it.
    Changed(QueueMetadata),
    /// The condition did not hold. This is the metadata that DynamoDB returned; `None` if the item
    /// does not exist, or is a tombstone.
    Refused(Option<QueueMetadata>),
}

impl DynamoDbBackup {
    pub(super) async fn put_lease(
        &self,
        queue: &QueueId,
        epoch: u32,
        lease: Lease,
        now_ms: u64,
    ) -> Result<LeaseOutcome, BackupError> {
        let update = "SET #epoch = :next, #lease_holder = :holder, #lease_until_ms = :until";
        let free =
            "(attribute_not_exists(#lease_until_ms) OR #lease_until_ms <= :now OR #lease_until_ms > :latest)";
        let values = [
            (":epoch", number(epoch)),
            (":next", number(epoch + 1)),
            (":holder", holder_value(lease.holder)),
            (":until", number(lease.until_ms)),
            (":now", number(now_ms)),
            (":latest", number(now_ms.saturating_add(LEASE_PLAUSIBLE_MAX_MS))),
        ];
        let condition = format!("{IS_OF_EPOCH} AND {free}");
        Ok(
            match self.update_metadata(queue, update, &condition, values).await? {
                Attempt::Changed(part) => LeaseOutcome::Taken(part),
                // An earlier attempt of this call succeeded, and its answer was lost.
                Attempt::Refused(Some(part)) if part.lease == Some(lease) => LeaseOutcome::Taken(part),
                Attempt::Refused(Some(part)) if part.epoch == epoch => match part.lease {
                    Some(other) => LeaseOutcome::Held(other),
                    None => LeaseOutcome::EpochChanged,
                },
                Attempt::Refused(_) => LeaseOutcome::EpochChanged,
            },
        )
    }

    pub(super) async fn extend_lease(
        &self,
        queue: &QueueId,
        epoch: u32,
        lease: Lease,
    ) -> Result<bool, BackupError> {
        let update = "SET #lease_until_ms = :until";
        let values = [
            (":epoch", number(epoch)),
            (":holder", holder_value(lease.holder)),
            (":until", number(lease.until_ms)),
        ];
        let renewed = self
            .update_metadata(queue, update, IS_LEASE_HOLDER, values)
            .await?;
        Ok(matches!(renewed, Attempt::Changed(_)))
    }

    pub(super) async fn remove_lease(
        &self,
        queue: &QueueId,
        epoch: u32,
        by: Uuid,
    ) -> Result<(), BackupError> {
        let update = "REMOVE #lease_holder, #lease_until_ms";
        let values = [(":epoch", number(epoch)), (":holder", holder_value(by))];
        self.update_metadata(queue, update, IS_LEASE_HOLDER, values)
            .await
            .map(drop)
    }

    pub(super) async fn put_watermark(
        &self,
        queue: &QueueId,
        epoch: u32,
        fence: u64,
    ) -> Result<(), BackupError> {
        let update = "SET #fence = :fence";
        let condition = "#epoch = :epoch AND (attribute_not_exists(#fence) OR #fence < :fence)";
        let values = [(":epoch", number(epoch)), (":fence", number(fence))];
        self.update_metadata(queue, update, condition, values)
            .await
            .map(drop)
    }

    pub(super) async fn put_opening(
        &self,
        queue: &QueueId,
        epoch: u32,
        opened_at_ms: u64,
    ) -> Result<(), BackupError> {
        let update = "SET #opened_at_ms = :opened";
        let condition =
            "#epoch = :epoch AND (attribute_not_exists(#opened_at_ms) OR #opened_at_ms = :not_opened)";
        let values = [
            (":epoch", number(epoch)),
            (":opened", number(opened_at_ms)),
            (":not_opened", number(0_u32)),
        ];
        self.update_metadata(queue, update, condition, values)
            .await
            .map(drop)
    }

    pub(super) async fn put_kept_times(
        &self,
        queue: &QueueId,
        epoch: u32,
        expected: KeptTimes,
        kept: KeptTimes,
    ) -> Result<bool, BackupError> {
        let update = "SET #kept_times = :kept";
        let is_expected = if expected == KeptTimes::default() {
            "attribute_not_exists(#kept_times) OR #kept_times IN (:expected, :kept)"
        } else {
            "#kept_times IN (:expected, :kept)"
        };
        let values = [
            (":epoch", number(epoch)),
            (":expected", AttributeValue::S(expected.to_string())),
            (":kept", AttributeValue::S(kept.to_string())),
        ];
        let condition = format!("{IS_OF_EPOCH} AND ({is_expected})");
        let replaced = self.update_metadata(queue, update, &condition, values).await?;
        Ok(matches!(replaced, Attempt::Changed(_)))
    }

    pub(super) async fn put_root_key(
        &self,
        queue: &QueueId,
        epoch: u32,
        root: RootFingerprint,
    ) -> Result<(), BackupError> {
        let update = "SET #root_key = :root";
        let condition = "#epoch = :epoch AND attribute_not_exists(#root_key)";
        let values = [
            (":epoch", number(epoch)),
            (":root", queue_items::root_value(root)),
        ];
        self.update_metadata(queue, update, condition, values)
            .await
            .map(drop)
    }

    pub(super) async fn put_generation(
        &self,
        queue: &QueueId,
        epoch: u32,
        salt: Salt,
    ) -> Result<Option<QueueMetadata>, BackupError> {
        let update = "SET #layout = :layout, #epoch = :next, #min_epoch = :next, #salt = :salt, \
                      #opened_at_ms = :not_opened";
        let end = "ADD #generation :one REMOVE #kept_times, #lease_holder, #lease_until_ms";
        let (update, root) = match salt.root() {
            Some(root) => (format!("{update}, #root_key = :root {end}"), Some(root)),
            None => (format!("{update} {end}, #root_key"), None),
        };
        let root = root.map(|root| (":root", queue_items::root_value(root)));
        let values = [
            (":layout", number(LAYOUT)),
            (":epoch", number(epoch)),
            (":next", number(epoch + 1)),
            (":salt", AttributeValue::S(salt.to_text())),
            (":not_opened", number(0_u32)),
            (":one", number(1_u32)),
        ];
        let values = values.into_iter().chain(root);
        Ok(
            match self.update_metadata(queue, &update, IS_OF_EPOCH, values).await? {
                Attempt::Changed(part) => Some(part),
                // An earlier attempt of this call succeeded, and its answer was lost.
                Attempt::Refused(part) => part.filter(|part| part.salt.is_of_same_generation(salt)),
            },
        )
    }

    async fn update_metadata(
        &self,
        queue: &QueueId,
        update: &str,
        condition: &str,
        values: impl IntoIterator<Item = (&'static str, AttributeValue)>,
    ) -> Result<Attempt, BackupError> {
        let values = values.into_iter().map(|(name, value)| (name.to_owned(), value));
        let values: HashMap<_, _> = values.collect();
        let request = self
            .client
            .update_item()
            .table_name(&self.tables.queues)
            .set_key(Some(queue_items::key(queue.as_str(), queue_items::METADATA_PART)))
            .update_expression(update)
            .condition_expression(condition)
            .set_expression_attribute_names(Some(attribute_names(&[update, condition])))
            .set_expression_attribute_values(Some(values))
            .return_values(ReturnValue::AllNew)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        match request.send().await {
            Ok(changed) => {
                let item = changed
                    .attributes()
                    .ok_or_else(|| entry_items::invalid_attribute_error(queue_items::QUEUE))?;
                queue_items::to_metadata(item).map(Attempt::Changed)
            }
            Err(error) => match error.as_service_error() {
                Some(UpdateItemError::ConditionalCheckFailedException(refused)) => {
                    parse_refused(refused.item()).map(Attempt::Refused)
                }
                _ => Err(to_backup_error("UpdateItem", &error)),
            },
        }
    }
}

fn parse_refused(stored: Option<&Item>) -> Result<Option<QueueMetadata>, BackupError> {
    Ok(stored.map(queue_items::to_live_metadata).transpose()?.flatten())
}

fn holder_value(holder: Uuid) -> AttributeValue {
    AttributeValue::S(holder.to_string())
}
