//! Fallback ticks: requests tick a queue while its promoter is down.

use vestibule_domain::driver::{away_after_ms, is_away};

use super::View;

/// When a queue gets a fallback tick. The limits hold for all callers together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TickOrder {
    /// The age of the promoter's heartbeat at which the promoter counts as down, in milliseconds. See
    /// [`away_after_ms`](crate::domain::driver::away_after_ms).
    pub away_after_ms: u64,
    /// The minimum time between two fallback ticks of the queue, in milliseconds.
    pub every_ms: u64,
}

impl View {
    /// Whether the promoter was down at the time of this snapshot, so that a request should run a fallback tick.
    pub fn promoter_is_away(&self) -> bool {
        let interval_ms = self.configuration.settings.pace().interval_ms;
        is_away(self.heartbeat_ms, self.now_ms, away_after_ms(interval_ms))
    }
}
