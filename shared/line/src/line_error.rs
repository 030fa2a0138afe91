//! Why a call of the line failed.

/// The reason why a call of the line failed.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// The line does not have this queue. Either the queue was never created there, or the line lost it.
    #[error("the line does not have this queue: it was never created, or the line lost it")]
    QueueNotFound,
    /// The line cannot be reached or did not answer in time. The caller cannot know whether the
    /// line did what the call asked.
    #[error("the line (Redis) cannot be reached or did not answer in time: {0}")]
    Unavailable(String),
    /// The line has no memory for another entry, and did nothing. Entries that it has are served as ever.
    #[error("the line (Redis) has no memory for another entry: {0}")]
    Full(String),
    /// The line sent a reply that no version of its scripts sends.
    #[error("the line (Redis) sent a reply that this release cannot read: {0}")]
    Protocol(String),
    /// The journal is at its limit and rejected the change. See [`JournalLimits`](super::JournalLimits).
    #[error("the line rejected the change: the journal is full; check why DynamoDB takes no writes")]
    JournalFull,
}
