//! How far the consistency checks of one queue in memory have come.

/// The progress of a queue's consistency checks.
#[derive(Debug, Default)]
pub(super) struct CheckProgress {
    /// When the last complete check ended, in Unix milliseconds.
    pub(super) checked_at_ms: u64,
    /// The version of the queue when that check began.
    pub(super) checked_v: u64,
    /// The version of the queue when the current check began.
    pub(super) current_v: u64,
    /// When the current check last reported progress, in Unix milliseconds; 0 if no check is running.
    pub(super) last_progress_ms: u64,
    /// The number of shards that the current check has covered.
    pub(super) covered_shards: u8,
}

impl CheckProgress {
    /// The progress of a new or restored queue. Such a queue agrees with the backup, so it counts
    /// as checked now.
    pub(super) fn new(now_ms: u64) -> Self {
        Self {
            checked_at_ms: now_ms,
            ..Self::default()
        }
    }

    /// The values under their Redis field names.
    #[cfg(feature = "given-time")]
    pub(super) fn redis_fields(&self) -> [(&'static str, u64); 5] {
        [
            ("checked_at_ms", self.checked_at_ms),
            ("checked_v", self.checked_v),
            ("check_v", self.current_v),
            ("check_heard_ms", self.last_progress_ms),
            ("check_shards", self.covered_shards.into()),
        ]
    }
}
