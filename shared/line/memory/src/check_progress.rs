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
    /// When the line noticed that it may have lost changes, in Unix milliseconds; 0 if no check is
    /// due for that.
    pub(super) due_ms: u64,
    /// When the last check that was due for a loss began, in Unix milliseconds.
    pub(super) loss_check_began_ms: u64,
    /// The imbalance of the queue when the last check began, or at the restore.
    pub(super) checked_imbalance: i64,
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

    /// Sets a check due, because the line may have lost changes. What a check under way has
    /// compared may have been lost since, so the next check begins anew.
    pub(super) fn set_due(&mut self, now_ms: u64) {
        (self.due_ms, self.last_progress_ms, self.covered_shards) = (now_ms, 0, 0);
    }

    /// The values under their Redis field names.
    #[cfg(feature = "given-time")]
    pub(super) fn redis_fields(&self) -> [(&'static str, u64); 7] {
        [
            ("checked_at_ms", self.checked_at_ms),
            ("checked_v", self.checked_v),
            ("check_v", self.current_v),
            ("check_heard_ms", self.last_progress_ms),
            ("check_shards", self.covered_shards.into()),
            ("check_due_ms", self.due_ms),
            ("loss_check_began_ms", self.loss_check_began_ms),
        ]
    }
}
