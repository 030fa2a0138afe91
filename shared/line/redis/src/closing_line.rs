//! Implements [`ClosingLine`] for [`RedisLine`].

use async_trait::async_trait;
use vestibule_domain::{
    id::{EntryId, QueueId},
    score::Visit,
};
use vestibule_line::{ClosingLine, LineError, MarkClosingOutcome};

use super::{RedisLine, mark_closing};

#[async_trait]
impl ClosingLine for RedisLine {
    async fn mark_closing(
        &self,
        queue: &QueueId,
        id: EntryId,
        visit: Option<Visit>,
    ) -> Result<MarkClosingOutcome, LineError> {
        mark_closing::mark_closing(self, queue, id, visit).await
    }

    async fn remove_closing_mark(&self, queue: &QueueId, id: EntryId) -> Result<(), LineError> {
        mark_closing::remove_closing_mark(self, queue, id).await
    }
}
