//! The sets of one queue in memory, between which its entries move.

use vestibule_domain::{
    fact::{Fact, Step, Turn},
    id::EntryId,
    lane::Lane,
    score::{Visit, WaitScore},
};

use super::queue::Queue;

impl Queue {
    /// Puts an entry in line. A plain waiting entry needs no visit of its own, because its place is
    /// its visit.
    pub(super) fn put_waiting(&mut self, id: EntryId, place: WaitScore, visit: Visit, turn: Turn) {
        self.has_lanes |= place.lane() != Lane::DEFAULT.number();
        self.waiting.insert(place, id);
        if turn == Turn::Second {
            self.visits.insert(id, (visit, Step::waiting_for(turn)));
        }
    }

    /// Makes an entry ready until this time by the claim clock.
    pub(super) fn put_ready(&mut self, id: EntryId, visit: Visit, turn: Turn, deadline_ms: u64) {
        self.ready.insert(deadline_ms, id);
        self.visits.insert(id, (visit, Step::ready_for(turn)));
    }

    /// Makes an entry active until this time, or moves the end of its session.
    pub(super) fn put_active(&mut self, id: EntryId, visit: Visit, session_end_ms: u64) {
        self.active.insert(session_end_ms, id);
        self.visits.insert(id, (visit, Step::Active));
        self.fast_tracked.remove(&id);
    }

    /// Removes an entry from the line, and frees its slot if it is held.
    pub(super) fn remove_entry(&mut self, id: EntryId) {
        self.held.release(id);
        if let Some(place) = self.waiting.remove(id) {
            self.forget_presence(place, id);
        }
        self.ready.remove(id);
        self.active.remove(id);
        self.visits.remove(&id);
        self.fast_tracked.remove(&id);
    }

    /// Removes the first ready entry if its time to claim has passed. Returns its fact, with the
    /// deadline in line time.
    pub(super) fn pop_no_show(&mut self, now_ms: u64) -> Option<(Fact, EntryId)> {
        let clock_ms = self.claim_clock_ms(now_ms);
        let (deadline_ms, id) = self.ready.pop_due(clock_ms)?;
        let (visit, step) = self.visits.remove(&id)?;
        let fact = Fact {
            visit,
            step,
            step_ms: deadline_ms + (now_ms - clock_ms),
            is_over: true,
        };
        Some((fact, id))
    }

    /// Removes the first active entry if its session has ended. Returns its fact.
    pub(super) fn pop_expired(&mut self, now_ms: u64) -> Option<(Fact, EntryId)> {
        let (session_end_ms, id) = self.active.pop_due(now_ms)?;
        self.fast_tracked.remove(&id);
        let (visit, _) = self.visits.remove(&id)?;
        Some((Fact::active(visit, session_end_ms).timed_out(), id))
    }
}
