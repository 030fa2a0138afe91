//! Changes Vestibule's own metadata of a queue. Each change requires that the epoch is the expected one
//! (compare-and-swap).

use std::collections::HashMap;

use aws_sdk_dynamodb::{
    operation::update_item::UpdateItemError,
    types::{AttributeValue, ReturnValue, ReturnValuesOnConditionCheckFailure},
};
use uuid::Uuid;
use vestibule_backup::{BackupError, Lease, Leased, LinePart, PLAUSIBLE_MS};
use vestibule_domain::id::{QueueId, Salt};

use super::{
    DynamoDb,
    client::unavailable,
    items::{self, Item, names_in, number},
    queues,
};

const IS_OURS: &str = "#epoch = :epoch AND #lease_holder = :holder";

/// The outcome of a conditional change.
enum Attempt {
    /// The change was made. This is the metadata after it.
    Changed(LinePart),
    /// The condition did not hold. This is the metadata that DynamoDB returned; `None` if the item does not exist.
    Refused(Option<LinePart>),
}

impl DynamoDb {
    pub(super) async fn take_part_lease(
        &self,
        queue: &QueueId,
        epoch: u32,
        lease: Lease,
        now_ms: u64,
    ) -> Result<Leased, BackupError> {
        let update = "SET #epoch = :next, #lease_holder = :holder, #lease_until_ms = :until";
        let free =
            "(attribute_not_exists(#lease_until_ms) OR #lease_until_ms <= :now OR #lease_until_ms > :latest)";
        let values = [
            (":epoch", number(epoch)),
            (":next", number(epoch + 1)),
            (":holder", holder(lease.holder)),
            (":until", number(lease.until_ms)),
            (":now", number(now_ms)),
            (":latest", number(now_ms.saturating_add(PLAUSIBLE_MS))),
        ];
        let condition = format!("#epoch = :epoch AND {free}");
        Ok(match self.change_part(queue, update, &condition, values).await? {
            Attempt::Changed(part) => Leased::Taken(part),
            // An earlier attempt of this call succeeded, and its answer was lost.
            Attempt::Refused(Some(part)) if part.lease == Some(lease) => Leased::Taken(part),
            Attempt::Refused(Some(part)) if part.epoch == epoch => match part.lease {
                Some(other) => Leased::Held(other),
                None => Leased::Overtaken,
            },
            Attempt::Refused(_) => Leased::Overtaken,
        })
    }

    pub(super) async fn renew_part_lease(
        &self,
        queue: &QueueId,
        epoch: u32,
        lease: Lease,
    ) -> Result<bool, BackupError> {
        let update = "SET #lease_until_ms = :until";
        let values = [
            (":epoch", number(epoch)),
            (":holder", holder(lease.holder)),
            (":until", number(lease.until_ms)),
        ];
        let renewed = self.change_part(queue, update, IS_OURS, values).await?;
        Ok(matches!(renewed, Attempt::Changed(_)))
    }

    pub(super) async fn release_part_lease(
        &self,
        queue: &QueueId,
        epoch: u32,
        by: Uuid,
    ) -> Result<(), BackupError> {
        let update = "REMOVE #lease_holder, #lease_until_ms";
        let values = [(":epoch", number(epoch)), (":holder", holder(by))];
        self.change_part(queue, update, IS_OURS, values).await.map(drop)
    }

    pub(super) async fn raise_part_fence(
        &self,
        queue: &QueueId,
        epoch: u32,
        fence: u64,
    ) -> Result<(), BackupError> {
        let update = "SET #fence = :fence";
        let condition = "#epoch = :epoch AND (attribute_not_exists(#fence) OR #fence < :fence)";
        let values = [(":epoch", number(epoch)), (":fence", number(fence))];
        self.change_part(queue, update, condition, values).await.map(drop)
    }

    pub(super) async fn begin_part_generation(
        &self,
        queue: &QueueId,
        epoch: u32,
        salt: Salt,
    ) -> Result<Option<LinePart>, BackupError> {
        let update = "SET #epoch = :next, #min_epoch = :next, #salt = :salt ADD #generation :one REMOVE #lease_holder, \
                      #lease_until_ms";
        let values = [
            (":epoch", number(epoch)),
            (":next", number(epoch + 1)),
            (":salt", AttributeValue::S(salt.to_text())),
            (":one", number(1_u32)),
        ];
        Ok(
            match self.change_part(queue, update, "#epoch = :epoch", values).await? {
                Attempt::Changed(part) => Some(part),
                // An earlier attempt of this call succeeded, and its answer was lost.
                Attempt::Refused(part) => part.filter(|part| part.salt == salt),
            },
        )
    }

    async fn change_part<const N: usize>(
        &self,
        queue: &QueueId,
        update: &str,
        condition: &str,
        values: [(&str, AttributeValue); N],
    ) -> Result<Attempt, BackupError> {
        let values: HashMap<_, _> = values.map(|(name, value)| (name.to_owned(), value)).into();
        let request = self
            .client
            .update_item()
            .table_name(&self.tables.queues)
            .set_key(Some(queues::key(queue.as_str(), queues::LINE_PART)))
            .update_expression(update)
            .condition_expression(condition)
            .set_expression_attribute_names(Some(names_in(&[update, condition])))
            .set_expression_attribute_values(Some(values))
            .return_values(ReturnValue::AllNew)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        match request.send().await {
            Ok(changed) => {
                let item = changed
                    .attributes()
                    .ok_or_else(|| items::nonsense(queues::QUEUE))?;
                queues::to_line(item).map(Attempt::Changed)
            }
            Err(error) => match error.as_service_error() {
                Some(UpdateItemError::ConditionalCheckFailedException(refused)) => {
                    refusal(refused.item()).map(Attempt::Refused)
                }
                _ => Err(unavailable("UpdateItem", &error)),
            },
        }
    }
}

fn refusal(standing: Option<&Item>) -> Result<Option<LinePart>, BackupError> {
    standing.map(queues::to_line).transpose()
}

fn holder(holder: Uuid) -> AttributeValue {
    AttributeValue::S(holder.to_string())
}
