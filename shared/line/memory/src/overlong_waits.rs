//! The ends of waits of one queue in memory that have lasted longer than the queue allows.

use vestibule_domain::{
    change::{EndReason, Event},
    clock::LineTime,
    id::EntryId,
    lane::LANE_PLACES,
    score::WaitScore,
};

use super::{chosen_entries::Places, presence::lane_bottom, promote::Events, queue::Queue};

impl Queue {
    /// Ends at most `limit` waits that have lasted `waiting_seconds_max`, the oldest first. Returns how many ended. If
    /// the queue `is_standing` still, no wait ends, and every visitor in line has the whole time again from now on.
    pub(super) fn end_overlong_waits(
        &mut self,
        time: LineTime,
        is_standing: bool,
        limit: u64,
        events: &mut Events,
    ) -> u64 {
        if time.clocks.apart {
            return 0;
        }
        if is_standing {
            self.moving_since_ms = time.ms();
            return 0;
        }
        let Some(begun_by_ms) = self.find_overlong_cutoff_ms(time.ms()) else {
            return 0;
        };
        let overlong = self.find_overlong_waits(begun_by_ms, limit);
        for (place, id) in &overlong {
            let fact = self
                .stored_entry(time.ms(), *id)
                .map(|entry| entry.fact.timed_out());
            self.pass_ended_wait(*place, *id);
            let how = EndReason::OverlongWait;
            events.extend(fact.map(|fact| (*id, Event::Ended { fact, how })));
        }
        let ended = overlong.len() as u64;
        self.totals.overlong_waits += ended;
        ended
    }

    /// The time by which a wait began that has lasted too long at `now_ms`; `None` if there can be no such wait. No wait
    /// begins before the opening, or before the queue last stood still. All times are Unix milliseconds.
    fn find_overlong_cutoff_ms(&self, now_ms: u64) -> Option<u64> {
        let begun_by_ms = now_ms.checked_sub(self.settings().waiting_ms_max()?)?;
        let opened_at_ms = self.settings().opens_at_ms.filter(|at_ms| *at_ms <= now_ms);
        let since_ms = self.moving_since_ms.max(opened_at_ms.unwrap_or(0));
        (begun_by_ms >= since_ms).then_some(begun_by_ms)
    }

    /// Finds at most `limit` waits that began by then, the oldest first. Those of drawn entries began with the opening.
    fn find_overlong_waits(&self, begun_by_ms: u64, limit: u64) -> Places {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let is_overlong = |place: WaitScore| !place.is_after_opening() || place.joined_at_ms() <= begun_by_ms;
        let mut overlong = Places::new();
        for lane in self.lanes.keys() {
            let of_lane = self
                .waiting
                .iter_above(lane_bottom(*lane))
                .take_while(|(place, _)| place.lane() == *lane && is_overlong(*place));
            overlong.extend(of_lane.take(limit));
        }
        overlong.sort_by_key(|(place, _)| (place.raw() % LANE_PLACES, place.raw()));
        overlong.truncate(limit);
        overlong
    }

    /// Removes an entry whose wait ends, and counts that the head of its lane went past it, so that visitors who follow the
    /// public document learn of it. An absent entry was passed before. The speed of the lane counts turns only.
    fn pass_ended_wait(&mut self, place: WaitScore, id: EntryId) {
        let absent_before = self.lane(place.lane()).absent;
        self.remove_entry(id);
        let progress = self.lane_mut(place.lane());
        if progress.absent == absent_before {
            progress.gone_ahead += 1;
            progress.speed.gone_ahead += 1;
        }
        progress.passed_through = progress.passed_through.max(place.raw());
    }
}
