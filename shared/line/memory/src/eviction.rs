//! The presence of many waiting entries of one queue in memory, and their eviction.

use async_trait::async_trait;
use vestibule_domain::{
    change::{EndReason, Event},
    clock::LineTime,
    fact::Fact,
    id::{EntryId, QueueId},
    score::WaitScore,
};
use vestibule_line::{EvictOrder, EvictionLine, JournalLimits, LineError, PresenceState, WaitingPresence};

use super::{memory_line::MemoryLine, promote::Events, queue::Queue};

#[async_trait]
impl EvictionLine for MemoryLine {
    async fn presence_many(
        &self,
        queue: &QueueId,
        ids: &[EntryId],
    ) -> Result<Vec<Option<WaitingPresence>>, LineError> {
        self.with_queue(queue, |queue, _| {
            ids.iter().map(|id| queue.waiting_presence(*id)).collect()
        })
    }

    async fn evict_waiting(&self, queue: &QueueId, order: &EvictOrder) -> Result<u64, LineError> {
        let limits = self.journal_limits;
        self.with_queue(queue, |queue, time| queue.evict_waiting(time, order, limits))?
    }
}

impl Queue {
    /// What is known of the visitor of a waiting entry; `None` if the entry does not wait.
    pub(super) fn waiting_presence(&self, id: EntryId) -> Option<WaitingPresence> {
        let place = self.waiting.score(id)?;
        Some(WaitingPresence {
            state: self.presence_state(place),
            has_checked_in: self
                .presence
                .as_ref()
                .is_none_or(|presence| presence.has_polled(id)),
        })
    }

    fn presence_state(&self, place: WaitScore) -> PresenceState {
        let progress = self.lane(place.lane());
        let is_present = self
            .presence
            .as_ref()
            .is_none_or(|presence| presence.present.contains_key(&place));
        if is_present {
            PresenceState::Present
        } else if place.raw() <= progress.passed_through {
            PresenceState::Absent
        } else if place.raw() <= progress.check_in_through {
            PresenceState::Called
        } else {
            PresenceState::NotCalled
        }
    }

    /// Evicts the given visits that still wait, as one record of the journal. Returns how many.
    ///
    /// # Errors
    /// [`LineError::JournalFull`] if the journal has no room.
    pub(super) fn evict_waiting(
        &mut self,
        time: LineTime,
        order: &EvictOrder,
        limits: JournalLimits,
    ) -> Result<u64, LineError> {
        if self.journal.len() >= limits.all_changes {
            return Err(LineError::JournalFull);
        }
        let absent_before = self.absent();
        let mut events = Events::new();
        for (id, visit) in &order.visits {
            let Some(found) = self.waiting_presence(*id) else {
                continue;
            };
            let is_spared = order.spares_checked_in && found.has_checked_in;
            let own_visit = self.stored_entry(time.ms(), *id).map(|entry| entry.fact.visit);
            if is_spared || own_visit != Some(*visit) {
                continue;
            }
            self.remove_entry(*id);
            let (fact, how) = (Fact::ended(*visit), EndReason::Evicted);
            events.push((*id, Event::Ended { fact, how }));
        }
        let evicted = events.len() as u64;
        self.totals.evicted += evicted;
        self.absent_at_tick = self.absent_at_tick.saturating_sub(absent_before - self.absent());
        self.write_tick(time, events, None);
        Ok(evicted)
    }
}
