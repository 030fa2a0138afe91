//! What the promoter remembers of a parked queue.

use tokio::time::Instant;
use vestibule_backup::QueueFingerprint;
use vestibule_line::ChangeMark;

/// The state of a parked queue.
#[derive(Debug, Clone, Copy)]
pub(super) struct ParkedQueue {
    /// The mark from before the parking. Another one shows that the queue is to be ticked again.
    pub(super) mark: ChangeMark,
    pub(super) next_tick_at: Instant,
}

/// A sync after which the stored settings are in force.
#[derive(Debug)]
pub(super) struct LastSync {
    /// What the listing before the sync showed. `None` if there was none.
    pub(super) fingerprint: Option<QueueFingerprint>,
    pub(super) at: Instant,
}
