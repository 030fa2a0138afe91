//! Entries in order of a time, such as the deadlines of the ready or active ones, or when visitors closed the page.

use std::collections::{BTreeMap, BTreeSet, HashMap, btree_map::Entry};

use vestibule_domain::id::EntryId;

/// Entries with a deadline in Unix milliseconds, soonest first. Each second has its own set, so
/// finding an entry by rank does not visit all entries.
#[derive(Debug, Default)]
pub(super) struct DeadlineSet {
    seconds: BTreeMap<u64, BTreeSet<(u64, EntryId)>>,
    deadlines_ms: HashMap<EntryId, u64>,
}

impl DeadlineSet {
    pub(super) fn len(&self) -> u64 {
        self.deadlines_ms.len() as u64
    }

    pub(super) fn deadline_ms(&self, id: EntryId) -> Option<u64> {
        self.deadlines_ms.get(&id).copied()
    }

    /// All entries in order of their deadlines. Entries with equal deadlines are ordered by id.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, EntryId)> {
        self.seconds.values().flatten().copied()
    }

    /// Adds an entry, or changes its deadline.
    pub(super) fn insert(&mut self, deadline_ms: u64, id: EntryId) {
        self.remove(id);
        self.seconds
            .entry(deadline_ms / 1_000)
            .or_default()
            .insert((deadline_ms, id));
        self.deadlines_ms.insert(id, deadline_ms);
    }

    /// Removes an entry and returns its deadline.
    pub(super) fn remove(&mut self, id: EntryId) -> Option<u64> {
        let deadline_ms = self.deadlines_ms.remove(&id)?;
        if let Entry::Occupied(mut due) = self.seconds.entry(deadline_ms / 1_000) {
            due.get_mut().remove(&(deadline_ms, id));
            if due.get().is_empty() {
                due.remove();
            }
        }
        Some(deadline_ms)
    }

    /// The first deadline, one at each twentieth of the order, and the last one. Empty if there are
    /// no entries.
    pub(super) fn deadlines_at_twentieths(&self) -> Vec<u64> {
        let Some(last) = self.deadlines_ms.len().checked_sub(1) else {
            return Vec::new();
        };
        let mut seconds = self.seconds.values();
        let (mut due, mut passed) = (seconds.next(), 0);
        let at = |part: usize| {
            let rank = last * part / 20;
            while due.is_some_and(|due| passed + due.len() <= rank) {
                passed += due.map_or(0, BTreeSet::len);
                due = seconds.next();
            }
            due?.iter()
                .nth(rank - passed)
                .map(|(deadline_ms, _)| *deadline_ms)
        };
        (0..=20).filter_map(at).collect()
    }

    /// The last deadline; `None` if there are no entries.
    pub(super) fn last_ms(&self) -> Option<u64> {
        let (_, due) = self.seconds.last_key_value()?;
        due.last().map(|(deadline_ms, _)| *deadline_ms)
    }

    /// Removes and returns the first entry if its deadline has passed.
    pub(super) fn pop_due(&mut self, now_ms: u64) -> Option<(u64, EntryId)> {
        let (_, due) = self.seconds.first_key_value()?;
        let &(deadline_ms, id) = due.first().filter(|(deadline_ms, _)| *deadline_ms <= now_ms)?;
        self.remove(id);
        Some((deadline_ms, id))
    }
}
