//! The budgets that belong to no queue: the held polls of a deployment, and the calls of an entry.

use async_trait::async_trait;
use vestibule_domain::{
    call_limit::CallLimit,
    id::{EntryId, QueueId},
};
use vestibule_line::{CallBudget, CallOutcome, HoldBudget, HoldOrder, HoldOutcome, LineError};

use super::{RedisLine, hold, take_call};

#[async_trait]
impl HoldBudget for RedisLine {
    async fn take_hold(&self, order: &HoldOrder<'_>) -> Result<HoldOutcome, LineError> {
        hold::take_hold(self, order).await
    }

    async fn release_holds(&self, deployment: &str, ids: &[EntryId]) -> Result<(), LineError> {
        hold::release_holds(self, deployment, ids).await
    }
}

#[async_trait]
impl CallBudget for RedisLine {
    async fn take_call(
        &self,
        queue: &QueueId,
        id: EntryId,
        limit: CallLimit,
    ) -> Result<CallOutcome, LineError> {
        take_call::take_call(self, queue, id, limit).await
    }
}
