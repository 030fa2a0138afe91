//! Writes one change under the condition that the item states a lesser fact. The item is afterwards what
//! [`EntryRecord::decide_put`] makes of the item before.

use std::ops::ControlFlow;

use aws_sdk_dynamodb::{
    operation::{put_item::PutItemError, update_item::UpdateItemError},
    types::{ReturnValue, ReturnValuesOnConditionCheckFailure},
};
use vestibule_backup::{BackupError, EntryPartition, PutOutcome};
use vestibule_domain::{
    change::Change,
    consumption::EarlierUse,
    record::{EntryRecord, PutDecision, PutRules},
};

use super::{
    DynamoDbBackup,
    client::to_backup_error,
    conditions,
    entry_items::{self, Expression, Item, attribute_names},
};

/// How many conditional writes are sent for one change. The first assumes that the change begins a
/// visit, or that it continues the visit that the item shows. A second is needed if that is wrong,
/// and a third or fourth if other writers change the item in between.
const ATTEMPTS_MAX: usize = 4;

/// The outcome of a conditional write.
pub(super) enum Attempt {
    /// The condition held. This is the record after the write.
    Stored(EntryRecord),
    /// The condition did not hold. This is the record that DynamoDB returned; `None` if the item
    /// does not exist.
    Refused(Option<EntryRecord>),
}

/// The conditional writes by which a change reaches the table.
enum Write {
    /// Puts the item of the change, which begins a visit or is the first that the table gets of its
    /// visit. It keeps the use of an earlier visit.
    Begin(Option<EarlierUse>),
    /// Updates the item, which shows the same visit and no later version.
    Continue,
    /// Updates the item, which shows the same visit and a later version, and leaves that version.
    ContinueAtLaterVersion,
    /// Adds what this record contains and the item lacks.
    FillGaps(EntryRecord),
}

impl DynamoDbBackup {
    /// Writes one change.
    pub(super) async fn write_change(
        &self,
        partition: &EntryPartition,
        change: &Change,
    ) -> Result<PutOutcome, BackupError> {
        let mut write = if change.event.is_provisional() {
            Write::Begin(None)
        } else {
            Write::Continue
        };
        for _ in 0..ATTEMPTS_MAX {
            let stored = match self.try_write(partition, change, &write).await? {
                Attempt::Stored(record) => {
                    return Ok(match write {
                        Write::FillGaps(_) => PutOutcome::Superseded(record),
                        _ => PutOutcome::Stored(record),
                    });
                }
                Attempt::Refused(stored) => stored,
            };
            write = match next_write(stored, change, partition.put_rules()) {
                ControlFlow::Continue(write) => write,
                ControlFlow::Break(outcome) => return Ok(outcome),
            };
        }
        Err(BackupError::Unavailable(format!(
            "other writers changed the entry {} during each of {ATTEMPTS_MAX} attempts to write it",
            change.id
        )))
    }

    async fn try_write(
        &self,
        partition: &EntryPartition,
        change: &Change,
        write: &Write,
    ) -> Result<Attempt, BackupError> {
        let rules = partition.put_rules();
        let (assignments, condition) = match write {
            Write::Begin(earlier_use) => {
                let record = EntryRecord {
                    earlier_use: *earlier_use,
                    ..EntryRecord::of_change(change, rules)
                };
                let condition = conditions::both(
                    conditions::absent_or_earlier_visit(change, rules.grace_seconds),
                    conditions::no_use_but(*earlier_use),
                );
                return self.put_item_if(partition, record, condition).await;
            }
            Write::Continue => (
                entry_items::assignments(change, rules, true),
                conditions::both(
                    conditions::same_visit_before(change),
                    conditions::no_later_version(change.version),
                ),
            ),
            Write::ContinueAtLaterVersion => (
                entry_items::assignments(change, rules, false),
                conditions::same_visit_before(change),
            ),
            Write::FillGaps(filled) => (
                entry_items::additions(filled),
                conditions::same_visit(filled.visit()),
            ),
        };
        self.update_item_if(partition, change, assignments, condition)
            .await
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

    /// Replaces the item if the condition holds.
    pub(super) async fn put_item_if(
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
    pub(super) async fn update_item_if(
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

/// What to send after a refused write, from the record that DynamoDB returned; the outcome if
/// nothing is left to write.
fn next_write(
    stored: Option<EntryRecord>,
    change: &Change,
    rules: PutRules,
) -> ControlFlow<PutOutcome, Write> {
    let Some(stored) = stored else {
        return ControlFlow::Continue(Write::Begin(None));
    };
    match EntryRecord::decide_put(Some(&stored), change, rules) {
        PutDecision::Store(record) if stored.visit() != change.event.visit() => {
            ControlFlow::Continue(Write::Begin(record.earlier_use))
        }
        PutDecision::Store(_) if stored.version > change.version => {
            ControlFlow::Continue(Write::ContinueAtLaterVersion)
        }
        PutDecision::Store(_) => ControlFlow::Continue(Write::Continue),
        PutDecision::FillGaps(filled) => ControlFlow::Continue(Write::FillGaps(filled)),
        PutDecision::Superseded => ControlFlow::Break(PutOutcome::Superseded(stored)),
        PutDecision::VisitContinues => ControlFlow::Break(PutOutcome::VisitContinues(stored)),
    }
}

fn parse_refused(stored: Option<&Item>) -> Result<Attempt, BackupError> {
    Ok(Attempt::Refused(stored.map(entry_items::to_record).transpose()?))
}
