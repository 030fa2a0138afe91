//! What every capability of a line includes: the view of a queue, and a sign of life.

use async_trait::async_trait;
use vestibule_domain::id::QueueId;

use super::{LineError, QueueView};

/// The state of a queue, which every user of a line may read.
#[async_trait]
pub trait QueueLine: Send + Sync + 'static {
    /// Returns the current state of the queue: its configuration, counts, clocks and averages.
    async fn queue_view(&self, queue: &QueueId) -> Result<QueueView, LineError>;

    /// Checks that the line answers.
    ///
    /// # Errors
    /// [`LineError::Unavailable`] if it does not.
    async fn ping(&self) -> Result<(), LineError>;
}
