//! The held slots of one queue in memory: those of visitors who left or were evicted while a pass can
//! still be shown.

use std::collections::HashMap;

use vestibule_domain::{end_reason::EndReason, fact::Fact, id::EntryId, score::Visit};

use super::deadline_set::DeadlineSet;

/// Each held slot, with the entry that it belongs to.
#[derive(Debug, Default)]
pub(super) struct HeldSlots {
    /// When each slot becomes free, in Unix milliseconds.
    free_at: DeadlineSet,
    /// The visits that ended, and how.
    visits: HashMap<EntryId, (Visit, EndReason)>,
}

impl HeldSlots {
    pub(super) fn len(&self) -> u64 {
        self.free_at.len()
    }

    /// Holds a slot until `free_at_ms`, in Unix milliseconds.
    pub(super) fn hold(&mut self, id: EntryId, visit: Visit, how: EndReason, free_at_ms: u64) {
        self.free_at.insert(free_at_ms, id);
        self.visits.insert(id, (visit, how));
    }

    /// Frees the slot of an entry. Returns what was known of it.
    pub(super) fn release(&mut self, id: EntryId) -> Option<(Fact, EndReason)> {
        let held = self.find(id);
        self.free_at.remove(id);
        self.visits.remove(&id);
        held
    }

    /// The fact of an entry whose slot is held, and how its visit ended.
    pub(super) fn find(&self, id: EntryId) -> Option<(Fact, EndReason)> {
        let &(visit, how) = self.visits.get(&id)?;
        Some((Fact::held(visit, self.free_at.deadline_ms(id)?), how))
    }

    /// Frees the slots that are not held any more, at most `limit` of them.
    pub(super) fn free_due(&mut self, now_ms: u64, limit: u64) {
        for _ in 0..limit {
            let Some((_, id)) = self.free_at.pop_due(now_ms) else {
                return;
            };
            self.visits.remove(&id);
        }
    }

    /// All held slots with the times at which they become free, in order of these times.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, EntryId)> {
        self.free_at.iter()
    }
}
