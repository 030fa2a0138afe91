//! What a tick of one queue in memory does about its opening.

use vestibule_domain::clock::LineTime;

use super::{presence::lane_bottom, queue::Queue};

impl Queue {
    /// Records the opening if it is due and the time is trusted.
    pub(super) fn open_if_due(&mut self, time: LineTime) {
        let opens_at_ms = self.settings().opens_at_ms;
        if opens_at_ms.is_some() && !time.clocks.apart {
            self.configuration.opened_at_ms = self.configuration.find_opening(time.ms(), true);
        }
    }

    /// Calls no visitor and forgets who checked in, because the queue has not opened yet.
    pub(super) fn call_none(&mut self) {
        if let Some(presence) = &mut self.presence {
            presence.forget_check_ins();
        }
        for (lane, progress) in &mut self.lanes {
            progress.check_in_through = lane_bottom(*lane);
        }
        self.newcomers_called = 0;
    }
}
