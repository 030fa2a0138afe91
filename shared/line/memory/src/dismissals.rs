//! The ends of the waiting entries of a finished queue in memory.

use vestibule_domain::{
    change::{EndReason, Event},
    settings::Entrance,
};

use super::{promote::Events, queue::Queue};

impl Queue {
    /// Ends at most `limit` waiting entries, from the head of the line, if the queue is finished. Returns
    /// how many ended.
    pub(super) fn dismiss_waiting(&mut self, now_ms: u64, limit: u64, events: &mut Events) -> u64 {
        if self.settings().entrance_at(now_ms) != Entrance::Finished {
            return 0;
        }
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let head: Vec<_> = self.waiting.iter().take(limit).map(|(_, id)| id).collect();
        let mut dismissed = 0;
        for id in head {
            let visit_fact = self.stored_entry(now_ms, id).map(|entry| entry.fact.timed_out());
            self.remove_entry(id);
            let how = EndReason::Dismissed;
            events.extend(visit_fact.map(|fact| (id, Event::Ended { fact, how })));
            dismissed += 1;
        }
        self.totals.dismissed += dismissed;
        dismissed
    }
}
