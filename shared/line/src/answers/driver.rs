//! About driving the line where its promoter is away.

use vestibule_domain::driver::{away_after_ms, is_away};

use super::View;

/// How often a queue is ticked by those who call, however many do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TickOrder {
    /// A promoter without a heartbeat for so long is away, in milliseconds: see
    /// [`away_after_ms`](vestibule_domain::driver::away_after_ms).
    pub away_after_ms: u64,
    /// Milliseconds between two ticks.
    pub every_ms: u64,
}

impl View {
    /// Whether whoever calls is to drive: the promoter was away when the line was asked.
    pub fn promoter_is_away(&self) -> bool {
        let interval_ms = self.configuration.settings.pace().interval_ms;
        is_away(self.heartbeat_ms, self.now_ms, away_after_ms(interval_ms))
    }
}
