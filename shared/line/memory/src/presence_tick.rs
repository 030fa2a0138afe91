//! What a tick does about the presence of the visitors of one queue in memory.

use vestibule_domain::{
    clock::LineTime,
    lane::lane_top,
    presence::{ABSENCE_MARKS, CALLED_MARK_MS, PresenceTick},
    score::WaitScore,
};

use super::{
    presence::{Presence, lane_bottom},
    queue::Queue,
};

impl Queue {
    /// Switches presence on or off if the setting has changed.
    pub(super) fn switch_presence(&mut self, now_ms: u64) {
        let is_on = self.settings().has_presence();
        if self.presence.is_some() == is_on {
            return;
        }
        for (lane, progress) in &mut self.lanes {
            if is_on {
                progress.passed_through = lane_bottom(*lane);
            } else {
                // Absent visitors have their turns again.
                progress.gone_ahead -= progress.absent.cast_signed();
                progress.absent = 0;
            }
        }
        self.presence = is_on.then(|| Presence::new(now_ms));
    }

    /// Advances the presence clock. The claim clock stands still while the front door is down.
    pub(super) fn advance_presence_clock(&mut self, time: LineTime) -> PresenceTick {
        let may_run = !time.clocks.apart && self.configuration.can_promote(time.ms());
        let present = self.present();
        let Some(presence) = &mut self.presence else {
            return PresenceTick::default();
        };
        let (clock, tick) = presence
            .clock
            .advance(time.ms(), presence.check_ins, present, may_run);
        presence.clock = clock;
        self.paused_ms += tick.door_down_ms;
        tick
    }

    /// Ends the presence of at most `limit` visitors who have not checked in for long. Returns how many.
    pub(super) fn drop_silent(&mut self, limit: u64) -> u64 {
        let presence_ms = self.settings().presence_ms();
        let mut dropped = 0;
        while dropped < limit
            && let Some(presence) = &mut self.presence
            && let Some((seen_ms, id)) = presence
                .seen
                .pop_due(presence.clock.ms.saturating_sub(presence_ms))
        {
            presence.last_seen_ms.insert(id, seen_ms);
            if let Some(place) = self.waiting.score(id) {
                presence.present.remove(&place);
                let lane = self.lane_mut(place.lane());
                if place.raw() <= lane.passed_through {
                    lane.gone_ahead += 1;
                    lane.absent += 1;
                }
            }
            dropped += 1;
        }
        dropped
    }

    /// Up to which place of a lane silence counts as absence: every visitor up to there was called
    /// `call_seconds` ago.
    pub(super) fn judged(&self, lane: u8) -> u64 {
        let call_ms = self.settings().call_ms();
        let judged = self.presence.as_ref().and_then(|presence| {
            let calls = presence.calls.get(&lane)?;
            calls
                .called
                .lowest_since(presence.clock.ms.saturating_sub(call_ms))
        });
        judged.unwrap_or_else(|| lane_bottom(lane))
    }

    /// Decides whether the windows grow: one does if fewer than half of those judged since the last
    /// decision checked in.
    pub(super) fn decide_growths(&mut self) {
        let call_ms = self.settings().call_ms();
        for lane in self.lanes.keys().copied().collect::<Vec<_>>() {
            let judged = self.judged(lane);
            let Some(presence) = &mut self.presence else {
                return;
            };
            let clock_ms = presence.clock.ms;
            let from = presence.calls_of(lane).judged_through;
            if !presence.calls_of(lane).is_decision_due(clock_ms, judged, call_ms) {
                continue;
            }
            let (waiting, present) = (
                self.waiting.count_between(from, judged),
                presence.count_between(from, judged),
            );
            presence
                .calls_of(lane)
                .decide_growth(clock_ms, judged, waiting, present);
        }
    }

    /// Marks up to which place visitors are called and passed.
    pub(super) fn mark_calls(&mut self) {
        let (call_ms, absent_ms) = (self.settings().call_ms(), self.settings().absent_ms());
        for (lane, progress) in self.lanes.clone() {
            let last = self.waiting.last_through(lane_top(lane));
            let last = last.filter(|place| place.lane() == lane);
            // A visitor who enters behind the last entry was not called yet.
            let last = last.map_or(progress.passed_through, WaitScore::raw);
            if let Some(presence) = &mut self.presence {
                let clock_ms = presence.clock.ms;
                let calls = presence.calls_of(lane);
                calls.called.add(
                    clock_ms,
                    progress.check_in_through.min(last),
                    CALLED_MARK_MS,
                    call_ms,
                );
                let every_ms = absent_ms / ABSENCE_MARKS;
                calls
                    .passed
                    .add(clock_ms, progress.passed_through, every_ms, absent_ms);
            }
        }
    }

    /// How many times as large the window of a lane is because visitors were absent.
    pub(super) fn growth(&self, lane: u8) -> u64 {
        let calls = self
            .presence
            .as_ref()
            .and_then(|presence| presence.calls.get(&lane));
        calls.map_or(1, |calls| calls.growth)
    }
}
