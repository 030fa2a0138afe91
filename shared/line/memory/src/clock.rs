//! The clock of one queue in memory.

use vestibule_domain::clock::{CLOCK_NOISE_MS, LineTime, is_server_outvoted};
use vestibule_line::AdjustClockOutcome;

use super::queue::Queue;

impl Queue {
    /// The latest time that the line has stored, in Unix microseconds: of a change, or of the
    /// promoter's heartbeat.
    pub(super) fn last_us(&self) -> u64 {
        self.v.max(self.heartbeat_ms * 1_000)
    }

    /// Line time in milliseconds. If this call has already made a change, the version of that
    /// change may be a few microseconds ahead of `now_us`.
    pub(super) fn now_ms(&self, now_us: u64) -> u64 {
        now_us.max(self.v) / 1_000
    }

    /// The claim clock in milliseconds, with which the deadlines of ready entries are compared. It
    /// stands still while the queue is paused and while the front door is down.
    pub(super) fn claim_clock_ms(&self, now_ms: u64) -> u64 {
        let this_pause_ms = if self.settings().paused {
            now_ms - self.paused_at_ms
        } else {
            0
        };
        now_ms - self.paused_ms - this_pause_ms
    }

    /// The time to claim of an entry that is promoted now, in milliseconds.
    pub(super) fn claim_ms(&self, now_ms: u64) -> u64 {
        let floor_ms = if now_ms < self.claim_floor_until_ms {
            self.claim_floor_ms
        } else {
            0
        };
        self.settings().claim_ms().max(floor_ms)
    }

    pub(super) fn adjust_clock(&mut self, time: LineTime, offset_ms: i64) -> AdjustClockOutcome {
        let clocks = time.clocks;
        if !clocks.is_server_off() {
            return AdjustClockOutcome::ClocksAgree;
        }
        let wanted_ms = clocks.offset_ms - clocks.ahead_ms;
        let moved = offset_ms.abs_diff(wanted_ms) > CLOCK_NOISE_MS;
        if moved || !is_server_outvoted(clocks, time.witness_ms, self.last_us(), self.proposed_offset_ms) {
            return AdjustClockOutcome::NotConfirmed;
        }
        self.offset_ms = offset_ms;
        self.proposed_offset_ms = None;
        AdjustClockOutcome::Applied
    }
}
