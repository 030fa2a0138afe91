//! What every capability of a line includes: the view of a queue, and a sign of life.

use std::time::Duration;

use async_trait::async_trait;
use vestibule_domain::{id::QueueId, lane::LaneProgress};

use super::{ChangeMark, EvictionPolicy, LineError, QueueTrace, QueueView};

/// How old a view may be that many processes share.
pub const VIEW_AGE_MAX: Duration = Duration::from_secs(1);

/// The state of a queue, which every user of a line may read.
#[async_trait]
pub trait QueueLine: Send + Sync + 'static {
    /// Returns the current state of the queue: its configuration, counts, clocks and averages.
    async fn queue_view(&self, queue: &QueueId) -> Result<QueueView, LineError>;

    /// Returns the state of the queue for one of many processes that all need it once a second. Its
    /// counts may be up to [`VIEW_AGE_MAX`] old. Its configuration, version, clocks and heartbeat are
    /// current.
    async fn recent_queue_view(&self, queue: &QueueId) -> Result<QueueView, LineError> {
        self.queue_view(queue).await
    }

    /// Returns the mark of the queue's last change. It costs the line much less than a view or a tick, so
    /// the promoter watches thousands of empty queues by it.
    async fn change_mark(&self, queue: &QueueId) -> Result<ChangeMark, LineError>;

    /// Returns how far a lane has moved. An answer that names a position reads this after the
    /// position: the view, which is cached, may count fewer entries than have gone ahead by then.
    async fn lane_progress(&self, queue: &QueueId, lane: u8) -> Result<LaneProgress, LineError>;

    /// Returns what the line has of a queue that the backup does not have. It never fails with
    /// [`LineError::QueueNotFound`].
    async fn find_trace(&self, queue: &QueueId) -> Result<QueueTrace, LineError>;

    /// How often this process left a server of the line because another one had replaced it. The
    /// new server may lack the last changes.
    fn server_departures(&self) -> u64;

    /// Returns the eviction policy of the line's server. In a cluster it is the worst one of the nodes.
    ///
    /// # Errors
    /// [`LineError::Unavailable`] if the line does not answer.
    async fn eviction_policy(&self) -> Result<EvictionPolicy, LineError>;

    /// Checks that the line answers.
    ///
    /// # Errors
    /// [`LineError::Unavailable`] if it does not.
    async fn ping(&self) -> Result<(), LineError>;
}
