//! What came of taking a restore lease.

use super::{lease::Lease, stored_queue::QueueMetadata};

/// The outcome of taking a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseOutcome {
    /// The caller holds the lease. The metadata has the new epoch.
    Taken(QueueMetadata),
    /// Another process holds this lease.
    Held(Lease),
    /// The epoch has changed: another process restored or reset the queue.
    EpochChanged,
}
