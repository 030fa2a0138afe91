//! How far the lanes of one queue in memory have moved.

use vestibule_domain::{
    lane::{LANES, Lane, LaneProgress, WINDOW_ENTRIES_MIN, lane_top, window_entries},
    pace::{LimitedBy, Pace},
    score::WaitScore,
};

use super::queue::Queue;

impl Queue {
    /// Adds the lanes of the entries in line that had no entry at a tick before, and the default one.
    pub(super) fn add_new_lanes(&mut self) {
        self.lane_mut(Lane::DEFAULT.number());
        if let Some((first, last)) = self.waiting.first().zip(self.waiting.last()) {
            for lane in first.lane()..=last.lane() {
                self.lane_mut(lane);
            }
        }
        self.has_lanes = self.lanes.len() > 1;
    }

    /// Measures how fast each lane moves, and calls visitors accordingly. `limited_by` is what limits
    /// the promotion, and `in_force` its pace.
    pub(super) fn call_visitors(&mut self, now_ms: u64, limited_by: LimitedBy, in_force: Pace) {
        let is_at_pace = matches!(
            limited_by,
            LimitedBy::Line | LimitedBy::Presence | LimitedBy::Pace | LimitedBy::Requested
        );
        let first_lane = self.waiting.first().map(WaitScore::lane);
        let mut room = self.settings().window_entries_max();
        let mut newcomers_called = 0;
        for lane in self.lanes.keys().copied().collect::<Vec<_>>() {
            let pace =
                (is_at_pace && first_lane == Some(lane)).then(|| self.settings().calling_pace(in_force));
            let window = self.call_lane(lane, now_ms, pace, room.max(WINDOW_ENTRIES_MIN));
            room = room.saturating_sub(window);
            let progress = self.lane(lane);
            if lane == Lane::DEFAULT.number() && progress.check_in_through == lane_top(lane) {
                let in_window = self
                    .waiting
                    .count_between(progress.passed_through, lane_top(lane));
                newcomers_called = window.saturating_sub(in_window);
            }
        }
        self.newcomers_called = if self.presence.is_some() {
            newcomers_called
        } else {
            0
        };
    }

    /// Calls the visitors of one lane. Returns how many of them may be called at once.
    fn call_lane(&mut self, lane: u8, now_ms: u64, pace: Option<Pace>, room: u64) -> u64 {
        let progress = self.lane(lane);
        let speed = progress.speed.measure(now_ms, progress.gone_ahead);
        let window = window_entries(speed, pace, self.growth(lane), room, self.settings());
        let last_called = self.waiting.nth_above(progress.passed_through, window);
        let in_lane = last_called.filter(|place| place.lane() == lane);
        let progress = self.lane_mut(lane);
        progress.speed = speed;
        progress.check_in_through = in_lane.map_or_else(|| lane_top(lane), WaitScore::raw);
        window
    }

    /// How many entries went past the head of the line without a turn, less those that came back
    /// ahead of others.
    pub(super) fn passed_over(&self) -> i64 {
        let gone_ahead: i64 = self.lanes.values().map(|lane| lane.gone_ahead).sum();
        gone_ahead - self.totals.promoted.cast_signed()
    }

    /// The lanes that visitors may be in: those that had an entry, and the default one.
    pub(super) fn lanes(&self) -> Vec<(u8, LaneProgress)> {
        let mut lanes = self.lanes.clone();
        let default = Lane::DEFAULT.number();
        lanes.entry(default).or_insert_with(|| LaneProgress::new(default));
        lanes.into_iter().collect()
    }

    /// How many entries wait in each lane.
    pub(super) fn waiting_by_lane(&self) -> [u64; LANES as usize] {
        let tops = (0..LANES).map(|lane| self.waiting.count_between(0, lane_top(lane)));
        let mut counts = [0; LANES as usize];
        let mut before = 0;
        for (count, through) in counts.iter_mut().zip(tops) {
            *count = through - before;
            before = through;
        }
        counts
    }

    /// How far a lane has moved.
    pub(super) fn lane(&self, lane: u8) -> LaneProgress {
        self.lanes
            .get(&lane)
            .copied()
            .unwrap_or_else(|| LaneProgress::new(lane))
    }

    pub(super) fn lane_mut(&mut self, lane: u8) -> &mut LaneProgress {
        self.lanes.entry(lane).or_insert_with(|| LaneProgress::new(lane))
    }
}
