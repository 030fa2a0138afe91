//! The waiting entries.

use std::collections::HashMap;

use vestibule_domain::{id::EntryId, score::WaitScore};

/// The number of slots in a block. Each block has one count.
const BLOCK_SLOTS: usize = 1_024;

/// The waiting entries in the order of their places.
///
/// New entries join at the back, so each gets a slot behind all others and keeps it. An entry that
/// leaves makes its slot empty. A position is the number of taken slots up to the entry's own. To
/// count them, each block has a count of the entries before it, and each slot of a block has a bit.
/// Counts and bits are so small that the position of one in a million entries is found within the
/// processor's cache.
#[derive(Debug, Default)]
pub(super) struct WaitingEntries {
    slots: Vec<(WaitScore, EntryId)>,
    /// One bit for each slot, set while an entry is in it.
    taken_bits: Vec<u64>,
    /// For each block, the number of waiting entries before it.
    count_before: Vec<u64>,
    /// The slot of the first entry. If no entry waits, the slot behind the last one.
    head: usize,
    entries: HashMap<EntryId, (WaitScore, usize)>,
    /// When an operator moved an entry to another lane, in Unix milliseconds.
    moved_at_ms: HashMap<EntryId, u64>,
}

impl WaitingEntries {
    pub(super) fn len(&self) -> u64 {
        self.entries.len() as u64
    }

    pub(super) fn score(&self, id: EntryId) -> Option<WaitScore> {
        self.entries.get(&id).map(|(score, _)| *score)
    }

    /// When an operator last moved an entry to another lane, in Unix milliseconds; 0 for never.
    pub(super) fn moved_at_ms(&self, id: EntryId) -> u64 {
        self.moved_at_ms.get(&id).copied().unwrap_or(0)
    }

    /// Notes when an operator moved an entry to another lane; 0 for never.
    pub(super) fn set_moved_at_ms(&mut self, id: EntryId, moved_at_ms: u64) {
        if moved_at_ms > 0 {
            self.moved_at_ms.insert(id, moved_at_ms);
        }
    }

    /// The place and the position of an entry. The first entry has position 1.
    pub(super) fn place_and_position(&self, id: EntryId) -> Option<(WaitScore, u64)> {
        let (score, slot) = *self.entries.get(&id)?;
        Some((score, self.position(slot)))
    }

    /// All entries, in order.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = (WaitScore, EntryId)> {
        let taken_slots = (self.head..self.slots.len()).filter(|slot| self.is_taken(*slot));
        taken_slots.map(|slot| self.slots[slot])
    }

    /// The place of the first entry.
    pub(super) fn first(&self) -> Option<WaitScore> {
        self.iter().next().map(|(score, _)| score)
    }

    /// The place of the last entry.
    pub(super) fn last(&self) -> Option<WaitScore> {
        self.iter().next_back().map(|(score, _)| score)
    }

    /// The place of the n-th entry, from 1, behind this place.
    pub(super) fn nth_above(&self, place: u64, n: u64) -> Option<WaitScore> {
        self.at_position(self.count_through(place) + n)
    }

    /// How many entries have this place or a lower one.
    pub(super) fn count_through(&self, place: u64) -> u64 {
        match self.first_slot_above(place).checked_sub(1) {
            Some(slot) => self.position(slot),
            None => 0,
        }
    }

    /// How many entries have a place above `from` and not above `through`.
    pub(super) fn count_between(&self, from: u64, through: u64) -> u64 {
        self.count_through(through)
            .saturating_sub(self.count_through(from))
    }

    /// The entries behind this place, in order.
    pub(super) fn iter_above(&self, place: u64) -> impl Iterator<Item = (WaitScore, EntryId)> {
        let taken_slots =
            (self.first_slot_above(place)..self.slots.len()).filter(|slot| self.is_taken(*slot));
        taken_slots.map(|slot| self.slots[slot])
    }

    /// The highest place of an entry that is not above this one.
    pub(super) fn last_through(&self, place: u64) -> Option<WaitScore> {
        let count = self.count_through(place);
        self.at_position(count)
    }

    fn first_slot_above(&self, place: u64) -> usize {
        self.slots.partition_point(|(score, _)| score.raw() <= place)
    }

    /// The place of the entry at this position, from 1.
    fn at_position(&self, position: u64) -> Option<WaitScore> {
        if position == 0 || position > self.len() {
            return None;
        }
        let blocks = self.count_before.partition_point(|before| *before < position);
        let first_slot = blocks.checked_sub(1)? * BLOCK_SLOTS;
        let last_slot = (first_slot + BLOCK_SLOTS).min(self.slots.len());
        let slots: Vec<_> = (first_slot..last_slot)
            .filter(|slot| self.is_taken(*slot))
            .collect();
        let rank = usize::try_from(position - self.count_before[blocks - 1] - 1).ok()?;
        slots.get(rank).map(|slot| self.slots[*slot].0)
    }

    /// Adds an entry, or moves it to another place. Entries with equal places are ordered by id.
    pub(super) fn insert(&mut self, score: WaitScore, id: EntryId) {
        self.remove(id);
        if self.slots.last().is_none_or(|last| *last < (score, id)) {
            return self.push(score, id);
        }
        // This is rare: only a restored entry goes to a place before the back. Rebuilding all slots
        // is fast enough for it.
        let mut all: Vec<_> = self.iter().collect();
        all.insert(all.partition_point(|other| *other < (score, id)), (score, id));
        self.rebuild(all);
    }

    pub(super) fn remove(&mut self, id: EntryId) -> Option<WaitScore> {
        let (score, slot) = self.entries.remove(&id)?;
        self.moved_at_ms.remove(&id);
        self.taken_bits[slot / 64] &= !(1 << (slot % 64));
        for before in &mut self.count_before[slot / BLOCK_SLOTS + 1..] {
            *before -= 1;
        }
        while self.head < self.slots.len() && !self.is_taken(self.head) {
            self.head += 1;
        }
        // More than half of the slots are empty, so compact them. Each compaction moves fewer
        // entries than have left since the last one, so its cost is constant for each entry that
        // leaves.
        if self.slots.len() > BLOCK_SLOTS + 2 * self.entries.len() {
            let all = self.iter().collect();
            self.rebuild(all);
        }
        Some(score)
    }

    #[cfg(test)]
    fn pop_first(&mut self) -> Option<(WaitScore, EntryId)> {
        let first = self.iter().next()?;
        self.remove(first.1);
        Some(first)
    }

    /// Replaces the contents with these entries, in this order.
    fn rebuild(&mut self, all: Vec<(WaitScore, EntryId)>) {
        *self = Self {
            moved_at_ms: std::mem::take(&mut self.moved_at_ms),
            ..Self::default()
        };
        for (score, id) in all {
            self.push(score, id);
        }
    }

    fn push(&mut self, score: WaitScore, id: EntryId) {
        let slot = self.slots.len();
        if slot.is_multiple_of(BLOCK_SLOTS) {
            self.count_before.push(self.len());
        }
        if slot.is_multiple_of(64) {
            self.taken_bits.push(0);
        }
        self.taken_bits[slot / 64] |= 1 << (slot % 64);
        self.slots.push((score, id));
        self.entries.insert(id, (score, slot));
    }

    fn is_taken(&self, slot: usize) -> bool {
        self.taken_bits[slot / 64] & (1 << (slot % 64)) != 0
    }

    fn position(&self, slot: usize) -> u64 {
        let (block, word) = (slot / BLOCK_SLOTS, slot / 64);
        let words = &self.taken_bits[block * BLOCK_SLOTS / 64..word];
        let up_to = self.taken_bits[word] << (63 - slot % 64);
        let in_block = words.iter().map(|word| word.count_ones()).sum::<u32>() + up_to.count_ones();
        self.count_before[block] + u64::from(in_block)
    }
}

#[cfg(test)]
mod tests {
    use proptest::{prelude::*, test_runner::Config};

    use super::*;

    fn entry(number: u64) -> EntryId {
        // The ids are in another order than the places, so the test notices if entries are ordered
        // by id.
        let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 16;
        let text = format!("00000000-0000-8000-8000-{mixed:012x}");
        text.parse().expect("the text is a valid entry token")
    }

    fn place(at: u64) -> WaitScore {
        WaitScore::from_raw(at).expect("the number is a valid score")
    }

    #[derive(Debug, Clone)]
    enum Step {
        /// This many visitors enter, one after the other.
        Enter(u16),
        /// The entry at this fraction of the line leaves.
        Leave(prop::sample::Index),
        /// This many entries are promoted.
        Promote(u16),
        /// A new entry is restored at a place that another entry may have.
        Restore(u64),
        /// An entry of the line moves to another place.
        Move(prop::sample::Index, u64),
    }

    fn any_step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (1..900_u16).prop_map(Step::Enter),
            any::<prop::sample::Index>().prop_map(Step::Leave),
            (1..900_u16).prop_map(Step::Promote),
            (0..6_000_u64).prop_map(Step::Restore),
            (any::<prop::sample::Index>(), 0..6_000_u64).prop_map(|(whom, at)| Step::Move(whom, at)),
        ]
    }

    proptest! {
        #![proptest_config(Config::with_cases(40))]

        /// The waiting entries equal a sorted list.
        #[test]
        fn waiting_entries_match_a_sorted_list(steps in prop::collection::vec(any_step(), 1..30)) {
            let (mut waiting, mut list) = (WaitingEntries::default(), Vec::<(WaitScore, EntryId)>::new());
            let (mut came, mut back) = (0, 0);
            for step in steps {
                match step {
                    Step::Enter(many) => for _ in 0..many {
                        (came, back) = (came + 1, back + 1);
                        list.push((place(back), entry(came)));
                        waiting.insert(place(back), entry(came));
                    },
                    Step::Leave(whom) => if !list.is_empty() {
                        let (score, id) = list.remove(whom.index(list.len()));
                        prop_assert_eq!(waiting.remove(id), Some(score));
                        prop_assert_eq!(waiting.remove(id), None);
                    },
                    Step::Promote(many) => for _ in 0..many {
                        let first = (!list.is_empty()).then(|| list.remove(0));
                        prop_assert_eq!(waiting.pop_first(), first);
                    },
                    Step::Restore(at) => {
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
                for from in [0, 500, 2_000] {
                    let above: Vec<_> = list.iter().copied().filter(|(score, _)| score.raw() > from).collect();
                    let through = above.iter().filter(|(score, _)| score.raw() <= 3_000).count() as u64;
                    prop_assert_eq!(waiting.count_between(from, 3_000), through);
                    prop_assert_eq!(waiting.iter_above(from).collect::<Vec<_>>(), above);
                }
                let last_through = list.iter().rev().map(|(score, _)| *score).find(|score| score.raw() <= 3_000);
                prop_assert_eq!(waiting.last_through(3_000), last_through);
                for (position, (score, id)) in (1..).zip(&list) {
                    prop_assert_eq!(waiting.place_and_position(*id), Some((*score, position)));
                    prop_assert_eq!(waiting.score(*id), Some(*score));
                }
            }
        }
    }
}
