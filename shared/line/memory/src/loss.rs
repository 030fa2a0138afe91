//! How one queue in memory notices that it lost changes.
//!
//! A line in memory loses nothing. The rules are here because the line in Redis is compared with them.

use vestibule_line::{Imbalance, LineHistory, LossSign, TickMark};

use super::queue::Queue;

impl Queue {
    /// Compares the queue with what the caller of a tick remembers, and sets a check due if it may
    /// have lost changes. Then counts the tick.
    pub(super) fn look_for_loss(&mut self, now_ms: u64, history: LineHistory) -> Option<LossSign> {
        let is_tick_lost = history
            .last_tick
            .is_some_and(|seen| seen.is_lost_in(self.last_tick()));
        let imbalance = self.compute_imbalance();
        let checks = &mut self.check_progress;
        let sign = if is_tick_lost {
            Some(LossSign::LostTick)
        } else if history.has_changed_server {
            Some(LossSign::ChangedServer)
        } else if checks.due_ms == 0 && imbalance != checks.checked_imbalance {
            Some(LossSign::Imbalance)
        } else {
            None
        };
        if sign.is_some() {
            checks.set_due(now_ms);
        }
        (self.ticks, self.ticked_at_ms) = (self.ticks + 1, now_ms);
        sign
    }

    pub(super) fn last_tick(&self) -> TickMark {
        TickMark {
            epoch: self.configuration.epoch,
            ticks: self.ticks,
            at_ms: self.ticked_at_ms,
        }
    }

    pub(super) fn imbalance(&self) -> Imbalance {
        Imbalance {
            visits: self.compute_imbalance(),
            at_check: self.check_progress.checked_imbalance,
        }
    }

    pub(super) fn compute_imbalance(&self) -> i64 {
        let entries = self.waiting.len() + self.ready.len() + self.active.len();
        self.totals.compute_imbalance(entries)
    }
}
