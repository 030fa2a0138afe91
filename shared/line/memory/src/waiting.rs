//! The entries in line.

use std::collections::HashMap;

use vestibule_domain::{id::EntryId, score::WaitScore};

/// So many slots are counted together.
const BLOCK: usize = 1_024;

/// The entries in line, by place. Arrivals join at the back, so each has a slot behind all others, and keeps it: whoever goes
/// leaves it empty. A position is what is taken up to there: a count for each block of slots, and a bit for each slot of
/// one, which together are so few bytes that a look at one in a million finds them in a cache.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    slots: Vec<(WaitScore, EntryId)>,
    /// A bit for each slot, set while somebody is in it.
    taken: Vec<u64>,
    /// For each block, how many are in line before it.
    before: Vec<u64>,
    /// The slot of the head, or behind the last one.
    head: usize,
    entries: HashMap<EntryId, (WaitScore, usize)>,
}

impl Waiting {
    pub(super) fn len(&self) -> u64 {
        self.entries.len() as u64
    }

    pub(super) fn score(&self, id: EntryId) -> Option<WaitScore> {
        self.entries.get(&id).map(|(score, _)| *score)
    }

    /// The place and the position, which is 1 for the head of the line.
    pub(super) fn place(&self, id: EntryId) -> Option<(WaitScore, u64)> {
        let (score, slot) = *self.entries.get(&id)?;
        Some((score, self.position(slot)))
    }

    /// Everybody, in order.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = (WaitScore, EntryId)> {
        let taken = (self.head..self.slots.len()).filter(|slot| self.is_taken(*slot));
        taken.map(|slot| self.slots[slot])
    }

    /// The place of the head.
    pub(super) fn first(&self) -> Option<WaitScore> {
        self.iter().next().map(|(score, _)| score)
    }

    /// The place of the last one.
    pub(super) fn last(&self) -> Option<WaitScore> {
        self.iter().next_back().map(|(score, _)| score)
    }

    /// Adds an entry, or gives it another place. Two of one place stand by their ids.
    pub(super) fn insert(&mut self, score: WaitScore, id: EntryId) {
        self.remove(id);
        if self.slots.last().is_none_or(|last| *last < (score, id)) {
            return self.push(score, id);
        }
        // Hardly ever: somebody is put back where they were.
        let mut all: Vec<_> = self.iter().collect();
        all.insert(all.partition_point(|other| *other < (score, id)), (score, id));
        self.stand(all);
    }

    pub(super) fn remove(&mut self, id: EntryId) -> Option<WaitScore> {
        let (score, slot) = self.entries.remove(&id)?;
        self.taken[slot / 64] &= !(1 << (slot % 64));
        for before in &mut self.before[slot / BLOCK + 1..] {
            *before -= 1;
        }
        while self.head < self.slots.len() && !self.is_taken(self.head) {
            self.head += 1;
        }
        // Mostly empty: each is moved once for one who went.
        if self.slots.len() > BLOCK + 2 * self.entries.len() {
            let all = self.iter().collect();
            self.stand(all);
        }
        Some(score)
    }

    pub(super) fn pop_first(&mut self) -> Option<(WaitScore, EntryId)> {
        let first = self.iter().next()?;
        self.remove(first.1);
        Some(first)
    }

    /// These and nobody else are in line, in this order.
    fn stand(&mut self, all: Vec<(WaitScore, EntryId)>) {
        *self = Self::default();
        for (score, id) in all {
            self.push(score, id);
        }
    }

    fn push(&mut self, score: WaitScore, id: EntryId) {
        let slot = self.slots.len();
        if slot.is_multiple_of(BLOCK) {
            self.before.push(self.len());
        }
        if slot.is_multiple_of(64) {
            self.taken.push(0);
        }
        self.taken[slot / 64] |= 1 << (slot % 64);
        self.slots.push((score, id));
        self.entries.insert(id, (score, slot));
    }

    fn is_taken(&self, slot: usize) -> bool {
        self.taken[slot / 64] & (1 << (slot % 64)) != 0
    }

    fn position(&self, slot: usize) -> u64 {
        let (block, word) = (slot / BLOCK, slot / 64);
        let words = &self.taken[block * BLOCK / 64..word];
        let up_to = self.taken[word] << (63 - slot % 64);
        let in_block = words.iter().map(|word| word.count_ones()).sum::<u32>() + up_to.count_ones();
        self.before[block] + u64::from(in_block)
    }
}

#[cfg(test)]
mod tests {
    use proptest::{prelude::*, test_runner::Config};

    use super::*;

    fn entry(number: u64) -> EntryId {
        // So that they do not stand by their ids as they came.
        let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 16;
        let text = format!("00000000-0000-8000-8000-{mixed:012x}");
        text.parse().expect("a token")
    }

    fn place(at: u64) -> WaitScore {
        WaitScore::from_raw(at).expect("a score")
    }

    #[derive(Debug, Clone)]
    enum Step {
        /// So many come, one behind the other.
        Come(u16),
        /// Of those in line the one at this part of it leaves.
        Leave(prop::sample::Index),
        /// So many are called.
        Call(u16),
        /// Somebody new is put back, at a place that somebody else may have.
        PutBack(u64),
        /// One of those in line is put elsewhere.
        Move(prop::sample::Index, u64),
    }

    fn any_step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (1..900_u16).prop_map(Step::Come),
            any::<prop::sample::Index>().prop_map(Step::Leave),
            (1..900_u16).prop_map(Step::Call),
            (0..6_000_u64).prop_map(Step::PutBack),
            (any::<prop::sample::Index>(), 0..6_000_u64).prop_map(|(whom, at)| Step::Move(whom, at)),
        ]
    }

    proptest! {
        #![proptest_config(Config::with_cases(40))]

        /// As a sorted list has it.
        #[test]
        fn everybody_stands_by_place(steps in prop::collection::vec(any_step(), 1..30)) {
            let (mut waiting, mut list) = (Waiting::default(), Vec::<(WaitScore, EntryId)>::new());
            let (mut came, mut back) = (0, 0);
            for step in steps {
                match step {
                    Step::Come(many) => for _ in 0..many {
                        (came, back) = (came + 1, back + 1);
                        list.push((place(back), entry(came)));
                        waiting.insert(place(back), entry(came));
                    },
                    Step::Leave(whom) => if !list.is_empty() {
                        let (score, id) = list.remove(whom.index(list.len()));
                        prop_assert_eq!(waiting.remove(id), Some(score));
                        prop_assert_eq!(waiting.remove(id), None);
                    },
                    Step::Call(many) => for _ in 0..many {
                        let first = (!list.is_empty()).then(|| list.remove(0));
                        prop_assert_eq!(waiting.pop_first(), first);
                    },
                    Step::PutBack(at) => {
                        (came, back) = (came + 1, back.max(at));
                        list.push((place(at), entry(came)));
                        waiting.insert(place(at), entry(came));
                    }
                    Step::Move(whom, at) => if !list.is_empty() {
                        back = back.max(at);
                        let (_, id) = list.remove(whom.index(list.len()));
                        list.push((place(at), id));
                        waiting.insert(place(at), id);
                    },
                }
                list.sort_unstable();
                prop_assert_eq!(waiting.iter().collect::<Vec<_>>(), list.clone());
                prop_assert_eq!(waiting.len(), list.len() as u64);
                prop_assert_eq!(waiting.first(), list.first().map(|(score, _)| *score));
                prop_assert_eq!(waiting.last(), list.last().map(|(score, _)| *score));
                for (position, (score, id)) in (1..).zip(&list) {
                    prop_assert_eq!(waiting.place(*id), Some((*score, position)));
                    prop_assert_eq!(waiting.score(*id), Some(*score));
                }
            }
        }
    }
}
