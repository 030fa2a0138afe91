//! What a queue in memory counts until its tally is stored.

use vestibule_domain::tally::{PeakWaiting, QueueTotals, Tally, WaitHistogram};

/// What a queue counts for its tally, apart from the totals of the line.
#[derive(Debug, Default)]
pub(super) struct TallyCounter {
    /// The totals of the generation before the line restored the queue.
    pub(super) totals_before: QueueTotals,
    pub(super) waits: WaitHistogram,
    pub(super) peak: PeakWaiting,
    /// When the tally was last taken for storing it, in Unix milliseconds; 0 if it never was.
    pub(super) taken_at_ms: u64,
    /// The version of the tally that the backup has; 0 if it has none of this epoch.
    pub(super) stored_v: u64,
}

impl TallyCounter {
    /// Goes on with a stored tally.
    pub(super) fn from_stored(stored: Tally) -> Self {
        Self {
            totals_before: stored.totals,
            waits: stored.waits,
            peak: stored.peak,
            ..Self::default()
        }
    }
}
