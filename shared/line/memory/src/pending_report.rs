//! What a queue counts in memory until the next report.

use vestibule_line::QueueTotals;

/// The events since the last report.
#[derive(Debug, Default)]
pub(super) struct PendingReport {
    /// When the last report was taken, in Unix milliseconds; 0 if none was.
    pub(super) reported_at_ms: u64,
    /// The totals at the last report.
    pub(super) reported_totals: QueueTotals,
    pub(super) tick_gap_ms: u64,
    pub(super) waited_ms: u64,
    pub(super) waited_max_ms: u64,
}

impl PendingReport {
    /// Records the time between two heartbeats, in milliseconds.
    pub(super) fn record_tick_gap(&mut self, gap_ms: u64) {
        self.tick_gap_ms = self.tick_gap_ms.max(gap_ms);
    }

    /// Records the wait of one promoted entry, in milliseconds.
    pub(super) fn record_wait(&mut self, wait_ms: u64) {
        self.waited_ms += wait_ms;
        self.waited_max_ms = self.waited_max_ms.max(wait_ms);
    }

    /// The values under their Redis field names.
    #[cfg(feature = "given-time")]
    pub(super) fn redis_fields(&self) -> [(&'static str, u64); 11] {
        [
            ("tick_gap_ms", self.tick_gap_ms),
            ("waited_ms", self.waited_ms),
            ("waited_max_ms", self.waited_max_ms),
            ("reported_at_ms", self.reported_at_ms),
            ("reported_entered", self.reported_totals.entered),
            ("reported_promoted", self.reported_totals.promoted),
            ("reported_completed", self.reported_totals.completed),
            ("reported_left", self.reported_totals.left),
            ("reported_expired", self.reported_totals.expired),
            ("reported_no_shows", self.reported_totals.no_shows),
            ("reported_absences", self.reported_totals.absences),
        ]
    }
}
