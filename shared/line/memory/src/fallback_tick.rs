//! Ticks of one queue in memory: when a request takes a fallback tick, and when an idle promoter is
//! parked.

use vestibule_domain::{clock::LineTime, fallback_tick::is_promoter_down};
use vestibule_line::FallbackTickOrder;

use super::queue::Queue;

impl Queue {
    pub(super) fn take_fallback_tick(&mut self, time: LineTime, order: FallbackTickOrder) -> bool {
        let now_ms = time.ms();
        // A clock that was set back does not prevent a tick: `checked_sub` returns `None` for a
        // tick in the future.
        let is_early = now_ms
            .checked_sub(self.fallback_ticked_at_ms)
            .is_some_and(|passed_ms| passed_ms < order.every_ms);
        if time.clocks.apart
            || is_early
            || !is_promoter_down(self.heartbeat_ms, now_ms, order.promoter_down_after_ms)
        {
            return false;
        }
        self.fallback_ticked_at_ms = now_ms;
        true
    }

    pub(super) fn park_idle_promoter(&mut self) -> bool {
        let is_empty = self.waiting.len() + self.ready.len() + self.active.len() == 0;
        let can_park = is_empty && self.journal.len() == 0;
        if can_park {
            self.heartbeat_ms = 0;
        }
        can_park
    }
}
