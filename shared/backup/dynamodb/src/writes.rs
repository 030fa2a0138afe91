//! Writes one change under the condition that the item is older. The item is afterwards what [`Record::after`] makes of
//! the item before.

use aws_sdk_dynamodb::{
    operation::{put_item::PutItemError, update_item::UpdateItemError},
    types::{ReturnValue, ReturnValuesOnConditionCheckFailure},
};
use vestibule_backup::{BackupError, Placing, Shelf, Written};
use vestibule_domain::{change::Change, record::Record};

use super::{
    DynamoDb,
    client::unavailable,
    conditions,
    items::{self, Expression, Item, names_in},
};

/// How often a write starts over because another writer changed the item in between. Each time the item has a later
/// version. So a second round is needed only if the write meets the change that began its visit.
const ROUNDS: usize = 4;

/// The outcome of a conditional write.
enum Attempt {
    /// The condition held. This is the record after the write.
    Stored(Record),
    /// The condition did not hold. This is the record that DynamoDB returned; `None` if the item does not exist.
    Refused(Option<Record>),
}

impl DynamoDb {
    /// Writes one change.
    pub(super) async fn write_change(&self, shelf: &Shelf, change: &Change) -> Result<Written, BackupError> {
        match self.try_change(shelf, change, 0).await? {
            Attempt::Stored(record) => Ok(Written::Stored(record)),
            Attempt::Refused(standing) => self.write_over(shelf, change, standing).await,
        }
    }

    /// Writes the change of a visitor who entered, unless another visit is live or continues at its old place.
    pub(super) async fn write_place_change(
        &self,
        shelf: &Shelf,
        change: &Change,
    ) -> Result<Placing, BackupError> {
        let mut standing = match self.try_change(shelf, change, shelf.grace_seconds).await? {
            Attempt::Stored(record) => return Ok(Placing::Written(Written::Stored(record))),
            Attempt::Refused(standing) => standing,
        };
        if let Some(missed) = &standing
            && let Some(back) = missed.come_back(change, shelf.grace_seconds)
        {
            match self.put(shelf, back, conditions::still(Some(missed))).await? {
                Attempt::Stored(back) => return Ok(Placing::given_back(back, change)),
                Attempt::Refused(now) => standing = now,
            }
        }
        match standing {
            Some(record) if record.is_another_live_visit(change) => Ok(Placing::Taken(record)),
            standing => {
                let written = self.write_over(shelf, change, standing).await;
                written.map(Placing::Written)
            }
        }
    }

    /// Writes a change in the common case, with one request. Either the change begins a visit where none is live and
    /// none may return within this grace, or it continues the visit that the item shows.
    async fn try_change(
        &self,
        shelf: &Shelf,
        change: &Change,
        grace_seconds: u32,
    ) -> Result<Attempt, BackupError> {
        let Some(alone) = Record::after(None, change, shelf.retain_hours) else {
            return Ok(Attempt::Refused(None));
        };
        if change.event.begins() {
            return self
                .put(shelf, alone, conditions::nothing_or_over(change, grace_seconds))
                .await;
        }
        let assignments = items::assignments(&alone);
        self.update(
            shelf,
            change,
            assignments,
            conditions::older_of_this_visit(change),
        )
        .await
    }

    /// Replaces the item with what the change makes of its record (optimistic concurrency): reads what a refused write
    /// returned, and tries again.
    async fn write_over(
        &self,
        shelf: &Shelf,
        change: &Change,
        mut standing: Option<Record>,
    ) -> Result<Written, BackupError> {
        for _ in 0..ROUNDS {
            if standing.as_ref().is_some_and(|record| record.outlasts(change)) {
                return self.fill(shelf, change, standing).await;
            }
            let Some(record) = Record::after(standing.as_ref(), change, shelf.retain_hours) else {
                return Ok(Written::Older);
            };
            match self
                .put(shelf, record, conditions::still(standing.as_ref()))
                .await?
            {
                Attempt::Stored(record) => return Ok(Written::Stored(record)),
                Attempt::Refused(now) => standing = now,
            }
        }
        Err(BackupError::Unavailable(format!(
            "other writers changed the entry {} during each of {ROUNDS} attempts to write it",
            change.id
        )))
    }

    /// Sends a write whose condition never holds, so it writes nothing. The answer shows whether the table accepts
    /// writes.
    pub(super) async fn write_nothing(&self, shelf: &Shelf) -> Result<(), BackupError> {
        let condition = "attribute_exists(#entry)";
        let request = self
            .client
            .put_item()
            .table_name(&self.tables.entries)
            .set_item(Some(items::key_of_nobody(shelf)))
            .set_expression_attribute_names(Some(names_in(&[condition])))
            .condition_expression(condition);
        match request.send().await {
            Ok(_) => Ok(()),
            Err(error) => match error.as_service_error() {
                Some(PutItemError::ConditionalCheckFailedException(_)) => Ok(()),
                _ => Err(unavailable("PutItem", &error)),
            },
        }
    }

    /// Adds what a late change determines and the record lacks.
    async fn fill(
        &self,
        shelf: &Shelf,
        change: &Change,
        standing: Option<Record>,
    ) -> Result<Written, BackupError> {
        let Some(filled) = Record::after(standing.as_ref(), change, shelf.retain_hours) else {
            return Ok(Written::passed_over(standing.as_ref(), change));
        };
        let additions = items::additions(&filled);
        match self
            .update(shelf, change, additions, conditions::same_visit(change))
            .await?
        {
            Attempt::Stored(record) => Ok(Written::Stored(record)),
            // The item shows another visit by now.
            Attempt::Refused(_) => Ok(Written::Older),
        }
    }

    /// Replaces the item if the condition holds.
    async fn put(
        &self,
        shelf: &Shelf,
        record: Record,
        condition: Expression,
    ) -> Result<Attempt, BackupError> {
        let request = self
            .client
            .put_item()
            .table_name(&self.tables.entries)
            .set_item(Some(items::item(shelf, &record)))
            .set_expression_attribute_names(Some(names_in(&[&condition.text])))
            .set_expression_attribute_values(Some(condition.values).filter(|values| !values.is_empty()))
            .condition_expression(condition.text)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        match request.send().await {
            Ok(_) => Ok(Attempt::Stored(record)),
            Err(error) => match error.as_service_error() {
                Some(PutItemError::ConditionalCheckFailedException(refused)) => refusal(refused.item()),
                _ => Err(unavailable("PutItem", &error)),
            },
        }
    }

    /// Updates the item if the condition holds.
    async fn update(
        &self,
        shelf: &Shelf,
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
            .set_key(Some(items::key(shelf, change.id)))
            .set_expression_attribute_names(Some(names_in(&[&assignments, &condition.text])))
            .set_expression_attribute_values(Some(values))
            .update_expression(assignments)
            .condition_expression(condition.text)
            .return_values(ReturnValue::AllNew)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        match request.send().await {
            Ok(answer) => {
                let item = answer.attributes().ok_or_else(|| items::nonsense(items::ENTRY))?;
                Ok(Attempt::Stored(items::record(item)?))
            }
            Err(error) => match error.as_service_error() {
                Some(UpdateItemError::ConditionalCheckFailedException(refused)) => refusal(refused.item()),
                _ => Err(unavailable("UpdateItem", &error)),
            },
        }
    }
}

fn refusal(standing: Option<&Item>) -> Result<Attempt, BackupError> {
    Ok(Attempt::Refused(standing.map(items::record).transpose()?))
}
