//! The check-ins of one queue in memory, and what they change for the others in line.

use vestibule_domain::{
    id::EntryId,
    lane::{Lane, LaneProgress, WINDOW_ENTRIES_MIN, lane_top},
    score::WaitScore,
};

use super::{
    presence::{Presence, lane_bottom},
    queue::Queue,
};

impl Queue {
    /// Records that the visitor of a waiting entry polled. Any of them shows that the front door is up.
    pub(super) fn check_in(&mut self, place: WaitScore, id: EntryId) {
        let progress = self.lane(place.lane());
        let Some(presence) = &mut self.presence else {
            return;
        };
        presence.check_ins += 1;
        if place.raw() <= progress.check_in_through {
            let seen_ms = presence.clock.ms;
            self.mark_present(place, id, seen_ms, true);
        }
    }

    /// Records that a visitor entered again who waits.
    pub(super) fn check_in_by_entering(&mut self, place: WaitScore, id: EntryId) {
        let Some(presence) = &self.presence else {
            return;
        };
        let seen_ms = self.settings().entering_seen_ms(presence.clock.ms);
        if place.raw() <= self.lane(place.lane()).check_in_through {
            self.mark_present(place, id, seen_ms, false);
        }
    }

    /// Calls a visitor who has entered, if the window has room. The last tick counted how many more are
    /// called in the default lane. In any other lane it is those of the least window, while the whole lane
    /// is called.
    pub(super) fn call_newcomer(&mut self, place: WaitScore, id: EntryId) {
        let progress = self.lane(place.lane());
        let is_called = if place.lane() == Lane::DEFAULT.number() {
            let is_called = self.newcomers_called > 0;
            self.newcomers_called = self.newcomers_called.saturating_sub(1);
            is_called
        } else {
            let top = lane_top(place.lane());
            let in_window = self.waiting.count_between(progress.passed_through, top);
            progress.check_in_through == top && in_window <= WINDOW_ENTRIES_MIN
        };
        if is_called {
            self.check_in_by_entering(place, id);
        }
    }

    /// Marks a called waiting entry as present, whose visitor polls or enters.
    fn mark_present(&mut self, place: WaitScore, id: EntryId, seen_ms: u64, is_poll: bool) {
        let Some(presence) = &mut self.presence else {
            return;
        };
        presence.remember_check_in(id, is_poll);
        if presence.add(place, id, seen_ms)
            && let Some(lane) = self.lanes.get_mut(&place.lane())
            && place.raw() <= lane.passed_through
        {
            lane.gone_ahead -= 1;
            lane.absent -= 1;
        }
    }

    /// Forgets the presence of an entry that does not wait any more.
    pub(super) fn forget_presence(&mut self, place: WaitScore, id: EntryId) {
        let was_present = self
            .presence
            .as_mut()
            .is_some_and(|presence| presence.remove(place, id));
        if was_present {
            return;
        }
        if let Some(lane) = self.lanes.get_mut(&place.lane())
            && lane.absent > 0
            && place.raw() <= lane.passed_through
        {
            lane.absent -= 1;
        }
    }

    /// Counts an entry that was put back in line. A visitor who `is_here` checks in by it; any other
    /// is absent if the place was passed over.
    pub(super) fn put_back(&mut self, place: WaitScore, id: EntryId, is_here: bool) {
        let has_presence = self.presence.is_some();
        let lane = self.lane_mut(place.lane());
        if has_presence && place.raw() <= lane.passed_through {
            lane.absent += 1;
        } else {
            lane.gone_ahead -= 1;
        }
        let is_called = place.raw() <= lane.check_in_through;
        let Some(presence) = &mut self.presence else {
            return;
        };
        let clock_ms = presence.clock.ms;
        if !is_here {
            presence.last_seen_ms.insert(id, clock_ms);
        } else if is_called {
            self.mark_present(place, id, clock_ms, true);
        }
    }

    /// The position of a waiting entry in its lane: 1 for the head. Absent entries do not count.
    pub(super) fn position_in_lane(&self, place: WaitScore) -> u64 {
        let progress = self.lane(place.lane());
        let bottom = lane_bottom(place.lane());
        let is_present = |presence: &Presence| presence.present.contains_key(&place);
        if place.raw() <= progress.passed_through
            && let Some(presence) = self.presence.as_ref().filter(|presence| is_present(presence))
        {
            return presence.count_between(bottom.saturating_sub(1), place.raw());
        }
        let rank = self.waiting.count_between(bottom.saturating_sub(1), place.raw()) - 1;
        progress.position(place.raw(), rank)
    }

    /// How many waiting entries are absent.
    pub(super) fn absent(&self) -> u64 {
        self.lanes.values().map(|lane| lane.absent).sum()
    }

    /// The lowest place of a waiting entry that is not absent.
    pub(super) fn head(&self) -> Option<WaitScore> {
        if self.absent() == 0 {
            return self.waiting.first();
        }
        let present = self.presence.iter().filter_map(|presence| {
            let (place, _) = presence.present.first_key_value()?;
            Some(*place)
        });
        let next = self.lanes.iter().filter_map(|(lane, progress)| {
            let next = self.waiting.nth_above(progress.passed_through, 1)?;
            (next.lane() == *lane).then_some(next)
        });
        present.chain(next).min()
    }

    /// How many waiting entries are called and not absent.
    pub(super) fn called(&self) -> u64 {
        let called = |lane: &LaneProgress| {
            self.waiting
                .count_between(lane.passed_through, lane.check_in_through)
        };
        self.lanes.values().map(called).sum()
    }

    /// How many visitors are present.
    pub(super) fn present(&self) -> u64 {
        self.presence
            .as_ref()
            .map_or(0, |presence| presence.present.len() as u64)
    }
}
