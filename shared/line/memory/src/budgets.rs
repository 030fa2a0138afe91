//! The budgets that belong to no queue: the held polls of a deployment, and the calls of an entry.

use async_trait::async_trait;
use vestibule_domain::{
    call_limit::CallLimit,
    id::{EntryId, QueueId},
};
use vestibule_line::{CallBudget, CallOutcome, HoldBudget, HoldOrder, HoldOutcome, LineError};

use super::memory_line::MemoryLine;

#[async_trait]
impl HoldBudget for MemoryLine {
    async fn take_hold(&self, order: &HoldOrder<'_>) -> Result<HoldOutcome, LineError> {
        Ok(self.holds.take_hold((self.clock)() / 1_000, order))
    }

    async fn release_holds(&self, deployment: &str, ids: &[EntryId]) -> Result<(), LineError> {
        self.holds.release_holds(deployment, ids);
        Ok(())
    }
}

#[async_trait]
impl CallBudget for MemoryLine {
    async fn take_call(
        &self,
        queue: &QueueId,
        id: EntryId,
        limit: CallLimit,
    ) -> Result<CallOutcome, LineError> {
        Ok(self.calls.take_call((self.clock)(), queue, id, limit))
    }
}
