//! Which called visitors of one queue in memory are present.

use std::collections::{BTreeMap, HashMap, HashSet};

use vestibule_domain::{
    id::EntryId,
    lane::{LANE_PLACES, lane_top},
    presence::{LaneCalls, PresenceClock},
    score::WaitScore,
};

use super::deadline_set::DeadlineSet;

/// The presence of the visitors of one queue.
#[derive(Debug)]
pub(super) struct Presence {
    pub(super) clock: PresenceClock,
    /// The check-ins by poll and the claims since presence was switched on.
    pub(super) check_ins: u64,
    /// The present entries by their places.
    pub(super) present: BTreeMap<WaitScore, EntryId>,
    /// The last check-ins of the present entries by the presence clock, in milliseconds.
    pub(super) seen: DeadlineSet,
    /// The same of entries that are not present any more, or came back without their visitors.
    pub(super) last_seen_ms: HashMap<EntryId, u64>,
    /// Those entries of `seen` and `last_seen_ms` whose visitors have not polled, but only entered.
    pub(super) entered_only: HashSet<EntryId>,
    pub(super) calls: BTreeMap<u8, LaneCalls>,
    /// While too many entries are absent, the presence time of which the absences end that began
    /// before, in milliseconds.
    pub(super) absence_cutoff_ms: Option<u64>,
}

impl Presence {
    pub(super) fn new(now_ms: u64) -> Self {
        Self {
            clock: PresenceClock::new(now_ms),
            check_ins: 0,
            present: BTreeMap::new(),
            seen: DeadlineSet::default(),
            last_seen_ms: HashMap::new(),
            entered_only: HashSet::new(),
            calls: BTreeMap::new(),
            absence_cutoff_ms: None,
        }
    }

    /// Whether the visitor of an entry has checked in by a poll since entering.
    pub(super) fn has_polled(&self, id: EntryId) -> bool {
        self.is_known(id) && !self.entered_only.contains(&id)
    }

    fn is_known(&self, id: EntryId) -> bool {
        self.seen.deadline_ms(id).is_some() || self.last_seen_ms.contains_key(&id)
    }

    /// Remembers how a visitor checks in, before the entry is marked as present.
    pub(super) fn remember_check_in(&mut self, id: EntryId, is_poll: bool) {
        if is_poll {
            self.entered_only.remove(&id);
        } else if !self.is_known(id) {
            self.entered_only.insert(id);
        }
    }

    /// Marks an entry as present. Returns whether it was not present before.
    pub(super) fn add(&mut self, place: WaitScore, id: EntryId, seen_ms: u64) -> bool {
        let earlier_ms = self.last_seen_ms.remove(&id);
        let seen_ms = self
            .seen
            .deadline_ms(id)
            .map_or(seen_ms, |last_ms| last_ms.max(seen_ms));
        self.seen.insert(seen_ms, id);
        debug_assert!(earlier_ms.is_none() || !self.present.contains_key(&place));
        self.present.insert(place, id).is_none()
    }

    /// Forgets an entry. Returns whether it was present.
    pub(super) fn remove(&mut self, place: WaitScore, id: EntryId) -> bool {
        self.last_seen_ms.remove(&id);
        self.entered_only.remove(&id);
        self.seen.remove(id);
        self.present.remove(&place).is_some()
    }

    /// Forgets who checked in.
    pub(super) fn forget_check_ins(&mut self) {
        self.present.clear();
        self.seen = DeadlineSet::default();
        self.last_seen_ms.clear();
        self.entered_only.clear();
    }

    /// How many present entries have a place above `from` and not above `through`.
    pub(super) fn count_between(&self, from: u64, through: u64) -> u64 {
        let above = self.present.keys().filter(|place| place.raw() > from);
        above.take_while(|place| place.raw() <= through).count() as u64
    }

    /// What a lane remembers of its calls.
    pub(super) fn calls_of(&mut self, lane: u8) -> &mut LaneCalls {
        let clock_ms = self.clock.ms;
        self.calls
            .entry(lane)
            .or_insert_with(|| LaneCalls::new(lane_bottom(lane), clock_ms))
    }
}

/// The lowest place of a lane.
pub(super) fn lane_bottom(lane: u8) -> u64 {
    lane_top(lane) + 1 - LANE_PLACES
}
