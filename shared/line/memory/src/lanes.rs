//! How far the lanes of one queue in memory have moved.

use vestibule_domain::{
    lane::{LaneProgress, lane_top, window_entries},
    pace::{LimitedBy, Pace},
    score::WaitScore,
};

use super::queue::Queue;

impl Queue {
    /// Counts an entry that went past the head of its lane.
    pub(super) fn count_gone_ahead(&mut self, place: WaitScore) {
        let lane = self.lane_mut(place.lane());
        lane.gone_ahead += 1;
        lane.passed_through = lane.passed_through.max(place.raw());
    }

    /// Counts an entry that came back to a place in line: the visitors behind it have one more ahead.
    pub(super) fn count_come_back(&mut self, place: WaitScore) {
        self.lane_mut(place.lane()).gone_ahead -= 1;
    }

    /// Measures how fast each lane moves, and calls visitors accordingly. `limited_by` is what limits
    /// the promotion.
    pub(super) fn call_visitors(&mut self, now_ms: u64, limited_by: LimitedBy) {
        let lanes_in_line = self.waiting.first().zip(self.waiting.last());
        if let Some((first, last)) = lanes_in_line {
            for lane in first.lane()..=last.lane() {
                self.lane_mut(lane);
            }
        }
        let is_at_pace = matches!(
            limited_by,
            LimitedBy::Line | LimitedBy::Pace | LimitedBy::Requested
        );
        let first_lane = lanes_in_line.map(|(first, _)| first.lane());
        let pace_of = |lane| (is_at_pace && first_lane == Some(lane)).then(|| self.settings().pace());
        let called: Vec<_> = self
            .lanes
            .iter()
            .map(|(lane, progress)| (*lane, self.call_lane(*lane, *progress, now_ms, pace_of(*lane))))
            .collect();
        self.lanes.extend(called);
    }

    fn call_lane(&self, lane: u8, progress: LaneProgress, now_ms: u64, pace: Option<Pace>) -> LaneProgress {
        let speed = progress.speed.measure(now_ms, progress.gone_ahead);
        let window = window_entries(speed, pace, self.settings());
        let last_called = self.waiting.nth_above(progress.passed_through, window);
        let in_lane = last_called.filter(|place| place.lane() == lane);
        LaneProgress {
            speed,
            check_in_through: in_lane.map_or_else(|| lane_top(lane), WaitScore::raw),
            ..progress
        }
    }

    /// The lanes that visitors may be in: those that had an entry, and the first one.
    pub(super) fn lanes(&self) -> Vec<(u8, LaneProgress)> {
        let mut lanes = self.lanes.clone();
        lanes.entry(0).or_insert_with(|| LaneProgress::new(0));
        lanes.into_iter().collect()
    }

    /// How far a lane has moved.
    pub(super) fn lane(&self, lane: u8) -> LaneProgress {
        self.lanes
            .get(&lane)
            .copied()
            .unwrap_or_else(|| LaneProgress::new(lane))
    }

    fn lane_mut(&mut self, lane: u8) -> &mut LaneProgress {
        self.lanes.entry(lane).or_insert_with(|| LaneProgress::new(lane))
    }
}
