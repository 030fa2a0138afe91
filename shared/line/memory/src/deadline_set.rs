//! The entries with a deadline: ready or active.

use std::collections::{BTreeMap, BTreeSet, HashMap, btree_map::Entry};

use vestibule_domain::{id::EntryId, score::DeadlineScore};

/// Entries with a deadline, soonest first. Each second has its own set, so finding an entry by rank
/// does not visit all entries.
#[derive(Debug, Default)]
pub(super) struct DeadlineSet {
    seconds: BTreeMap<u64, BTreeSet<(DeadlineScore, EntryId)>>,
    scores: HashMap<EntryId, DeadlineScore>,
}

impl DeadlineSet {
    pub(super) fn len(&self) -> u64 {
        self.scores.len() as u64
    }

    pub(super) fn score(&self, id: EntryId) -> Option<DeadlineScore> {
        self.scores.get(&id).copied()
    }

    /// All entries in order of their deadlines. Entries with equal scores are ordered by id.
    pub(super) fn iter(&self) -> impl Iterator<Item = (DeadlineScore, EntryId)> {
        self.seconds.values().flatten().copied()
    }

    /// Adds an entry, or changes its deadline.
    pub(super) fn insert(&mut self, score: DeadlineScore, id: EntryId) {
        self.remove(id);
        self.seconds
            .entry(deadline_second(score))
            .or_default()
            .insert((score, id));
        self.scores.insert(id, score);
    }

    pub(super) fn remove(&mut self, id: EntryId) -> Option<DeadlineScore> {
        let score = self.scores.remove(&id)?;
        if let Entry::Occupied(mut due) = self.seconds.entry(deadline_second(score)) {
            due.get_mut().remove(&(score, id));
            if due.get().is_empty() {
                due.remove();
            }
        }
        Some(score)
    }

    /// The first deadline, one at each twentieth of the order, and the last one. Empty if there are
    /// no entries.
    pub(super) fn deadlines_at_twentieths(&self) -> Vec<DeadlineScore> {
        let Some(last) = self.scores.len().checked_sub(1) else {
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
            due?.iter().nth(rank - passed).map(|(score, _)| *score)
        };
        (0..=20).filter_map(at).collect()
    }

    /// Removes and returns the first entry if its deadline has passed.
    pub(super) fn pop_due(&mut self, now_ms: u64) -> Option<(DeadlineScore, EntryId)> {
        let (_, due) = self.seconds.first_key_value()?;
        let &(score, id) = due.first().filter(|(score, _)| score.deadline_ms() <= now_ms)?;
        self.remove(id);
        Some((score, id))
    }
}

fn deadline_second(score: DeadlineScore) -> u64 {
    score.deadline_ms() / 1_000
}
