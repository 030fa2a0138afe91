//! What the closing of a visitor's page does to a waiting entry.

use async_trait::async_trait;
use vestibule_domain::{
    id::{EntryId, QueueId},
    score::Visit,
};

use super::{LineError, MarkClosingOutcome, QueueLine};

/// Marking the entry of a visitor who closes the page, and removing the mark when a request of the visitor comes.
///
/// A tick of [`promote`](crate::PromotionLine::promote) ends marked waits: see [`vestibule_domain::closing`].
#[async_trait]
pub trait ClosingLine: QueueLine {
    /// Marks a waiting entry, from which the time until its end counts. If `visit` is given, the entry is marked only if
    /// its current visit is that one. Does nothing if the queue does not have `leave_on_close`, or if line time is
    /// uncertain.
    async fn mark_closing(
        &self,
        queue: &QueueId,
        id: EntryId,
        visit: Option<Visit>,
    ) -> Result<MarkClosingOutcome, LineError>;

    /// Removes the mark of an entry, if it has one. Succeeds if the line does not have the queue.
    async fn remove_closing_mark(&self, queue: &QueueId, id: EntryId) -> Result<(), LineError>;
}
