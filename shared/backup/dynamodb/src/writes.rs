//! Writing one change under the condition that the item is older: what stands afterwards is what
//! [`Record::after`] makes of what stood there.

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

/// How often a write starts over because another writer changed the item in between: each time the item is of a later
/// version, so a write needs a second time only where it meets the change that began its visit.
const ROUNDS: usize = 4;

/// What a conditional write met.
enum Attempt {
    /// The condition held: the record stands like this.
    Stored(Record),
    /// It did not, because of this record or for want of one.
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

    /// Writes a change of somebody who entered, unless another visit stands there that is not over, or that goes on at its
    /// old place.
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

    /// Writes a change as it mostly can be written: a visit begins where none is, nor one that may come back within this
    /// grace, or goes on from where it stands.
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

    /// Writes what a change makes of the record that stands, where that is still the one.
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
            "the entry {} was changed by others {ROUNDS} times in between",
            change.id
        )))
    }

    /// Writes what is never written, since its condition never holds: the answer says whether the table takes writes.
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

    /// Adds what a change that came late knows, and the record that stands does not.
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
            // Another visit stands there by now.
            Attempt::Refused(_) => Ok(Written::Older),
        }
    }

    /// Puts a whole item where the condition holds.
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

    /// Changes the item that stands there, where the condition holds.
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
