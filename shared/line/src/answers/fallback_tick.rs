//! Fallback ticks: requests tick a queue while its promoter is down.

use vestibule_domain::fallback_tick::{is_promoter_down, promoter_down_after_ms};

use super::QueueView;

/// When a queue gets a fallback tick. The limits hold for all callers together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FallbackTickOrder {
    /// The age of the promoter's heartbeat at which the promoter counts as down, in milliseconds. See
    /// [`promoter_down_after_ms`](vestibule_domain::fallback_tick::promoter_down_after_ms).
    pub promoter_down_after_ms: u64,
    /// The minimum time between two fallback ticks of the queue, in milliseconds.
    pub every_ms: u64,
}

impl QueueView {
    /// Whether the queue has entries, or changes that the backup lacks. Without both, a tick has nothing to do.
    pub fn is_occupied(&self) -> bool {
        self.waiting + self.ready + self.active + self.held + self.journal_len > 0
    }

    /// Whether the promoter was down at the time of this snapshot, so that a request should run a
    /// fallback tick.
    pub fn is_promoter_down(&self) -> bool {
        let interval_ms = self.configuration.settings.pace().interval_ms;
        is_promoter_down(
            self.heartbeat_ms,
            self.now_ms,
            promoter_down_after_ms(interval_ms),
        )
    }
}
