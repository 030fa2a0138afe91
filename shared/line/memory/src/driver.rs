//! Ticks of one queue in memory: when a request takes a fallback tick, and when an idle promoter is parked.

use vestibule_domain::{clock::LineTime, driver::is_away};
use vestibule_line::TickOrder;

use super::queue::Queue;

impl Queue {
    pub(super) fn take_tick(&mut self, time: LineTime, order: TickOrder) -> bool {
        let now_ms = time.ms();
        // A clock that was set back does not prevent a tick: `checked_sub` returns `None` for a tick in the future.
        let is_early = now_ms
            .checked_sub(self.driven_at_ms)
            .is_some_and(|passed_ms| passed_ms < order.every_ms);
        if time.clocks.apart || is_early || !is_away(self.heartbeat_ms, now_ms, order.away_after_ms) {
            return false;
        }
        self.driven_at_ms = now_ms;
        true
    }

    pub(super) fn rest(&mut self) -> bool {
        let nobody = self.waiting.len() + self.ready.len() + self.active.len() == 0;
        let rests = nobody && self.journal.records.is_empty();
        if rests {
            self.heartbeat_ms = 0;
        }
        rests
    }
}
