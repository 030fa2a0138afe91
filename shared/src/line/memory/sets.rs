//! The two kinds of sorted set that a queue is made of.

use std::collections::{BTreeSet, HashMap, VecDeque};

use crate::domain::{
    id::EntryId,
    score::{DeadlineScore, WaitScore},
};

/// The entries in line, by place. Arrivals join at the back and the head leaves first, so a sorted ring finds, adds and
/// takes in no more than a binary search; only leaving from the middle moves others.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    pub(super) order: VecDeque<(WaitScore, EntryId)>,
    scores: HashMap<EntryId, WaitScore>,
}

impl Waiting {
    pub(super) fn len(&self) -> u64 {
        self.order.len() as u64
    }

    pub(super) fn score(&self, id: EntryId) -> Option<WaitScore> {
        self.scores.get(&id).copied()
    }

    /// 1 for the head of the line.
    pub(super) fn position(&self, score: WaitScore) -> u64 {
        self.index(score) as u64 + 1
    }

    pub(super) fn insert(&mut self, score: WaitScore, id: EntryId) {
        let index = self.order.partition_point(|other| *other < (score, id));
        self.order.insert(index, (score, id));
        self.scores.insert(id, score);
    }

    pub(super) fn remove(&mut self, id: EntryId) -> Option<WaitScore> {
        let score = self.scores.remove(&id)?;
        let index = self.order.partition_point(|other| *other < (score, id));
        self.order.remove(index);
        Some(score)
    }

    pub(super) fn pop_first(&mut self) -> Option<(WaitScore, EntryId)> {
        let first = self.order.pop_front()?;
        self.scores.remove(&first.1);
        Some(first)
    }

    fn index(&self, score: WaitScore) -> usize {
        self.order.partition_point(|(other, _)| *other < score)
    }
}

/// Entries with a deadline, soonest first.
#[derive(Debug, Default)]
pub(super) struct Timed {
    pub(super) order: BTreeSet<(DeadlineScore, EntryId)>,
    scores: HashMap<EntryId, DeadlineScore>,
}

impl Timed {
    pub(super) fn len(&self) -> u64 {
        self.order.len() as u64
    }

    pub(super) fn score(&self, id: EntryId) -> Option<DeadlineScore> {
        self.scores.get(&id).copied()
    }

    /// Adds an entry, or gives it another deadline.
    pub(super) fn insert(&mut self, score: DeadlineScore, id: EntryId) {
        self.remove(id);
        self.order.insert((score, id));
        self.scores.insert(id, score);
    }

    pub(super) fn remove(&mut self, id: EntryId) -> Option<DeadlineScore> {
        let score = self.scores.remove(&id)?;
        self.order.remove(&(score, id));
        Some(score)
    }

    /// The deadlines of the first, of those at each twentieth of the way, and of the last; none of nobody.
    pub(super) fn twentieths(&self) -> Vec<DeadlineScore> {
        let Some(last) = self.order.len().checked_sub(1) else {
            return Vec::new();
        };
        let mut ordered = self.order.iter().enumerate();
        let mut next = ordered.next();
        let at = |part: usize| {
            let rank = last * part / 20;
            while next.is_some_and(|(at, _)| at < rank) {
                next = ordered.next();
            }
            next.map(|(_, (score, _))| *score)
        };
        (0..=20).filter_map(at).collect()
    }

    /// Takes the first entry whose deadline has come.
    pub(super) fn pop_due(&mut self, now_ms: u64) -> Option<(DeadlineScore, EntryId)> {
        let &(score, id) = self
            .order
            .first()
            .filter(|(score, _)| score.deadline_ms() <= now_ms)?;
        self.remove(id);
        Some((score, id))
    }
}
