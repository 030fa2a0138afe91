//! Writes one change under the condition that the item is older. The item is afterwards what
//! [`EntryRecord::after`] makes of the item before.

use aws_sdk_dynamodb::{
    operation::{put_item::PutItemError, update_item::UpdateItemError},
    types::{ReturnValue, ReturnValuesOnConditionCheckFailure},
};
use vestibule_backup::{BackupError, EntryPartition, PlacePutOutcome, PutOutcome};
use vestibule_domain::{change::Change, record::EntryRecord};

use super::{
    DynamoDbBackup,
    client::to_backup_error,
    conditions,
    entry_items::{self, Expression, Item, attribute_names},
};

/// How often a write starts over because another writer changed the item in between. Each time the
/// item has a later version. So a second round is needed only if the write meets the change that
/// began its visit.
const ATTEMPTS_MAX: usize = 4;

/// The outcome of a conditional write.
enum Attempt {
    /// The condition held. This is the record after the write.
    Stored(EntryRecord),
    /// The condition did not hold. This is the record that DynamoDB returned; `None` if the item
    /// does not exist.
    Refused(Option<EntryRecord>),
}

impl DynamoDbBackup {
    /// Writes one change.
    pub(super) async fn write_change(
        &self,
        partition: &EntryPartition,
        change: &Change,
    ) -> Result<PutOutcome, BackupError> {
        match self.try_change(partition, change, 0).await? {
            Attempt::Stored(record) => Ok(PutOutcome::Stored(record)),
            Attempt::Refused(stored) => self.replace_record(partition, change, stored).await,
        }
    }

    /// Writes the change of a visitor who entered, unless another visit is live or continues at its
    /// old place.
    pub(super) async fn write_place_change(
        &self,
        partition: &EntryPartition,
        change: &Change,
    ) -> Result<PlacePutOutcome, BackupError> {
        let mut stored = match self
            .try_change(partition, change, partition.grace_seconds)
            .await?
        {
            Attempt::Stored(record) => return Ok(PlacePutOutcome::Put(PutOutcome::Stored(record))),
            Attempt::Refused(stored) => stored,
        };
        if let Some(missed) = &stored
            && let Some(restored) = missed.restore_missed_place(change, partition.grace_seconds)
        {
            match self
                .put_item_if(
                    partition,
                    restored,
                    conditions::unchanged_since_read(Some(missed)),
                )
                .await?
            {
                Attempt::Stored(restored) => {
                    return Ok(PlacePutOutcome::for_restored_place(restored, change));
                }
                Attempt::Refused(now) => stored = now,
            }
        }
        match stored {
            Some(record) if record.is_another_live_visit(change) => Ok(PlacePutOutcome::Conflict(record)),
            stored => {
                let written = self.replace_record(partition, change, stored).await;
                written.map(PlacePutOutcome::Put)
            }
        }
    }

    /// Writes a change in the common case, with one request. Either the change begins a visit where
    /// none is live and none may return within this grace, or it continues the visit that the item
    /// shows.
    async fn try_change(
        &self,
        partition: &EntryPartition,
        change: &Change,
        grace_seconds: u32,
    ) -> Result<Attempt, BackupError> {
        let Some(alone) = EntryRecord::apply_change(None, change, partition.retain_hours) else {
            return Ok(Attempt::Refused(None));
        };
        if change.event.begins_visit() {
            return self
                .put_item_if(partition, alone, conditions::no_live_visit(change, grace_seconds))
                .await;
        }
        let assignments = entry_items::assignments(&alone);
        self.update_item_if(
            partition,
            change,
            assignments,
            conditions::same_visit_before(change),
        )
        .await
    }

    /// Replaces the item with what the change makes of its record (optimistic concurrency): reads
    /// what a refused write returned, and tries again.
    async fn replace_record(
        &self,
        partition: &EntryPartition,
        change: &Change,
        mut stored: Option<EntryRecord>,
    ) -> Result<PutOutcome, BackupError> {
        for _ in 0..ATTEMPTS_MAX {
            if stored.as_ref().is_some_and(|record| record.supersedes(change)) {
                return self.fill_gaps(partition, change, stored).await;
            }
            let Some(record) = EntryRecord::apply_change(stored.as_ref(), change, partition.retain_hours)
            else {
                return Ok(PutOutcome::Superseded);
            };
            match self
                .put_item_if(
                    partition,
                    record,
                    conditions::unchanged_since_read(stored.as_ref()),
                )
                .await?
            {
                Attempt::Stored(record) => return Ok(PutOutcome::Stored(record)),
                Attempt::Refused(now) => stored = now,
            }
        }
        Err(BackupError::Unavailable(format!(
            "other writers changed the entry {} during each of {ATTEMPTS_MAX} attempts to write it",
            change.id
        )))
    }

    /// Sends a write whose condition never holds, so it writes nothing. The answer shows whether
    /// the table accepts writes.
    pub(super) async fn send_refused_put(&self, partition: &EntryPartition) -> Result<(), BackupError> {
        let condition = "attribute_exists(#entry)";
        let request = self
            .client
            .put_item()
            .table_name(&self.tables.entries)
            .set_item(Some(entry_items::unused_key(partition)))
            .set_expression_attribute_names(Some(attribute_names(&[condition])))
            .condition_expression(condition);
        match request.send().await {
            Ok(_) => Ok(()),
            Err(error) => match error.as_service_error() {
                Some(PutItemError::ConditionalCheckFailedException(_)) => Ok(()),
                _ => Err(to_backup_error("PutItem", &error)),
            },
        }
    }

    /// Adds what a late change determines and the record lacks.
    async fn fill_gaps(
        &self,
        partition: &EntryPartition,
        change: &Change,
        stored: Option<EntryRecord>,
    ) -> Result<PutOutcome, BackupError> {
        let Some(filled) = EntryRecord::apply_change(stored.as_ref(), change, partition.retain_hours) else {
            return Ok(PutOutcome::for_superseded(stored.as_ref(), change));
        };
        let additions = entry_items::additions(&filled);
        match self
            .update_item_if(partition, change, additions, conditions::same_visit(change))
            .await?
        {
            Attempt::Stored(record) => Ok(PutOutcome::Stored(record)),
            // The item shows another visit by now.
            Attempt::Refused(_) => Ok(PutOutcome::Superseded),
        }
    }

    /// Replaces the item if the condition holds.
    async fn put_item_if(
        &self,
        partition: &EntryPartition,
        record: EntryRecord,
        condition: Expression,
    ) -> Result<Attempt, BackupError> {
        let request = self
            .client
            .put_item()
            .table_name(&self.tables.entries)
            .set_item(Some(entry_items::to_item(partition, &record)))
            .set_expression_attribute_names(Some(attribute_names(&[&condition.text])))
            .set_expression_attribute_values(Some(condition.values).filter(|values| !values.is_empty()))
            .condition_expression(condition.text)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        match request.send().await {
            Ok(_) => Ok(Attempt::Stored(record)),
            Err(error) => match error.as_service_error() {
                Some(PutItemError::ConditionalCheckFailedException(refused)) => parse_refused(refused.item()),
                _ => Err(to_backup_error("PutItem", &error)),
            },
        }
    }

    /// Updates the item if the condition holds.
    async fn update_item_if(
        &self,
        partition: &EntryPartition,
        change: &Change,
        Expression {
            text: assignments,
            mut values,
        }: Expression,
        condition: Expression,
    ) -> Result<Attempt, BackupError> {
        values.extend(condition.values);
        let request = self
            .client
            .update_item()
            .table_name(&self.tables.entries)
            .set_key(Some(entry_items::key(partition, change.id)))
            .set_expression_attribute_names(Some(attribute_names(&[&assignments, &condition.text])))
            .set_expression_attribute_values(Some(values))
            .update_expression(assignments)
            .condition_expression(condition.text)
            .return_values(ReturnValue::AllNew)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        match request.send().await {
            Ok(answer) => {
                let item = answer
                    .attributes()
                    .ok_or_else(|| entry_items::invalid_attribute_error(entry_items::ENTRY))?;
                Ok(Attempt::Stored(entry_items::to_record(item)?))
            }
            Err(error) => match error.as_service_error() {
                Some(UpdateItemError::ConditionalCheckFailedException(refused)) => {
                    parse_refused(refused.item())
                }
                _ => Err(to_backup_error("UpdateItem", &error)),
            },
        }
    }
}

fn parse_refused(stored: Option<&Item>) -> Result<Attempt, BackupError> {
    Ok(Attempt::Refused(stored.map(entry_items::to_record).transpose()?))
}
