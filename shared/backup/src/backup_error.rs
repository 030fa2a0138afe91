//! Why a call to the backup failed.

/// Why a call to the backup failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum BackupError {
    /// The backup cannot be reached, or did not answer in time. The caller does not know whether
    /// the write happened.
    #[error("the backup is unavailable: {0}")]
    Unavailable(String),
    /// The backup throttles: it received more requests than it can serve. The caller may repeat the
    /// request in a moment.
    #[error("the backup throttles requests: {0}")]
    Throttled(String),
    /// The backup holds data that is not a valid record, for example after an edit by hand.
    #[error("the backup holds a record that cannot be read: {0}")]
    Unreadable(String),
}
