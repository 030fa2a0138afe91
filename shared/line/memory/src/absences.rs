//! The ends of absences of one queue in memory.
//!
//! An absence begins when the entry is passed over, or when its visitor is last seen, whichever is later. Marks tell when
//! an entry was passed over, so within the time of a mark the order is that of the places.

use vestibule_domain::{
    change::{EndReason, Event},
    id::EntryId,
    presence::ABSENCE_MARKS,
};

use super::{
    chosen_entries::Places,
    presence::{Presence, lane_bottom},
    promote::Events,
    queue::Queue,
};

/// How much a tick may still do about absences.
#[derive(Debug, Clone, Copy)]
struct Budget {
    /// At how many entries it may look.
    looks: u64,
    /// How many absences it may end.
    ends: u64,
}

impl Queue {
    /// Ends absences that have lasted `absent_seconds`, and the longest ones beyond `absent_limit`.
    /// Looks at `limit` entries at most, and goes on behind them the next time. Returns how many ended.
    pub(super) fn end_absences(&mut self, limit: u64, events: &mut Events) -> u64 {
        let absences = self.totals.absences;
        let absent_limit = self.settings().absent_limit();
        let excess = absent_limit.map_or(0, |most| self.absent().saturating_sub(most));
        let Some(clock_ms) = self.presence.as_ref().map(|presence| presence.clock.ms) else {
            return 0;
        };
        let absent_ms = self.settings().absent_ms();
        let lapsed_ms = clock_ms.saturating_sub(absent_ms);
        let mut cutoff_ms = self.choose_cutoff(lapsed_ms, excess);
        let mut budget = Budget {
            looks: limit,
            ends: if cutoff_ms.is_some() { excess } else { limit },
        };
        loop {
            let since_ms = cutoff_ms.unwrap_or(lapsed_ms);
            let is_finished = self.end_absences_since(since_ms, &mut budget, events);
            match &mut cutoff_ms {
                Some(cutoff_ms) if is_finished && *cutoff_ms < clock_ms => {
                    *cutoff_ms = (*cutoff_ms + absent_ms / ABSENCE_MARKS).min(clock_ms);
                }
                _ => break,
            }
        }
        if let Some(presence) = &mut self.presence {
            presence.absence_cutoff_ms = cutoff_ms.filter(|_| budget.ends > 0);
        }
        self.totals.absences - absences
    }

    /// Chooses the presence time since which absences end if `excess` entries too many are absent.
    /// `None` if none is.
    fn choose_cutoff(&mut self, lapsed_ms: u64, excess: u64) -> Option<u64> {
        let presence = self.presence.as_mut().filter(|_| excess > 0)?;
        let cutoff_ms = presence.absence_cutoff_ms.unwrap_or_else(|| {
            let mut first_ms = presence.clock.ms;
            for lane in self.lanes.keys() {
                let calls = presence.calls_of(*lane);
                first_ms = calls.passed.first_ms().map_or(first_ms, |ms| ms.min(first_ms));
                calls.looked_through = lane_bottom(*lane);
            }
            first_ms
        });
        Some(cutoff_ms.max(lapsed_ms))
    }

    /// Ends absences that began at `since_ms` or before. Returns whether none is left.
    fn end_absences_since(&mut self, since_ms: u64, budget: &mut Budget, events: &mut Events) -> bool {
        let mut is_finished = true;
        for lane in self.lanes.keys().copied().collect::<Vec<_>>() {
            let (absent, is_end) = self.find_absent(lane, since_ms, budget);
            is_finished &= is_end;
            self.lane_mut(lane).absent -= absent.len() as u64;
            self.totals.absences += absent.len() as u64;
            for (place, id) in absent {
                let entry = self.stored_entry(0, id);
                let visit_fact = entry.map(|entry| entry.fact.timed_out());
                self.waiting.remove(id);
                self.visits.remove(&id);
                if let Some(presence) = &mut self.presence {
                    presence.remove(place, id);
                }
                let how = EndReason::Absence;
                events.extend(visit_fact.map(|fact| (id, Event::Ended { fact, how })));
            }
        }
        is_finished
    }

    /// Finds entries of a lane that have been absent since `since_ms`, behind those that the last call
    /// looked at. The second value is whether it came to the end of the absent ones.
    fn find_absent(&mut self, lane: u8, since_ms: u64, budget: &mut Budget) -> (Places, bool) {
        let passed_through = self.lane(lane).passed_through;
        let Some(presence) = &mut self.presence else {
            return (Places::new(), true);
        };
        let is_now = since_ms >= presence.clock.ms;
        let calls = presence.calls_of(lane);
        let through = if is_now {
            Some(passed_through)
        } else {
            calls.passed.place_at(since_ms)
        };
        let Some(through) = through else {
            return (Places::new(), true);
        };
        if budget.looks == 0 || budget.ends == 0 {
            return (Places::new(), false);
        }
        let (mut absent, mut looked_through, mut looks) = (Places::new(), calls.looked_through, 0);
        let behind = self.waiting.iter_above(looked_through);
        for (place, id) in behind.take_while(|(place, _)| place.raw() <= through) {
            (looked_through, looks) = (place.raw(), looks + 1);
            if presence.is_absent_since(id, since_ms) {
                absent.push((place, id));
            }
            if looks == budget.looks || absent.len() as u64 == budget.ends {
                break;
            }
        }
        let is_finished = looks < budget.looks && (absent.len() as u64) < budget.ends;
        presence.calls_of(lane).looked_through = if is_finished {
            lane_bottom(lane)
        } else {
            looked_through
        };
        budget.looks -= looks;
        budget.ends -= absent.len() as u64;
        (absent, is_finished)
    }
}

impl Presence {
    /// Whether the visitor of a passed entry is not present and was not seen after this time.
    fn is_absent_since(&self, id: EntryId, since_ms: u64) -> bool {
        let last_ms = self.last_seen_ms.get(&id);
        self.seen.deadline_ms(id).is_none() && last_ms.is_none_or(|seen_ms| *seen_ms <= since_ms)
    }
}
