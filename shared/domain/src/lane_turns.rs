//! How the lanes of a queue share its promotions.
//!
//! The order of the lanes is strict: a promotion goes to the first lane that has an entry to promote. But of the
//! promotions for which lanes compete, `lane_share` percent go to the lower ones, so that no entry waits forever. A
//! promotion of the lower lanes goes to the entry that has been at the head of its lane for longest.
//!
//! Each promotion for which lanes compete adds `lane_share` hundredths to a credit, and the lower lanes have a turn
//! whenever that is one promotion. The rest stays, so the share is exact however few entries a tick promotes. A lane
//! competes while it has an entry to promote: not while it is empty, or while its next visitors have not checked in. A
//! promotion without competition changes no credit, so lower lanes that had nothing to promote catch nothing up.

use std::collections::BTreeMap;

/// The credit of one promotion.
const CREDIT_PER_TURN: u64 = 100;

/// The credit of the lower lanes, and since when each lane has had its head.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LaneTurns {
    /// The credit of the lower lanes, in hundredths of a promotion; below one promotion.
    pub credit: u64,
    /// The number of the last turn. It counts the turns of lanes, and the heads that lanes got.
    pub last_turn: u64,
    heads: BTreeMap<u8, LaneHead>,
}

/// The head of one lane: its first entry that may be promoted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaneHead {
    /// The place of the entry; `None` if it follows an entry that was promoted, until the next tick.
    pub place: Option<u64>,
    /// The number of the turn since which the lane has had this head.
    pub since_turn: u64,
}

/// The entries of one lane that may be promoted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaneCandidates {
    /// The lane.
    pub lane: u8,
    /// The place of the first entry.
    pub first_place: u64,
    /// How many entries there are, at least one.
    pub count: u64,
}

impl LaneTurns {
    /// Divides at most `limit` promotions among the lanes, which come in their order. Returns how many each lane gets.
    pub fn divide(
        &mut self,
        candidates: &[LaneCandidates],
        share_percent: u64,
        limit: u64,
    ) -> BTreeMap<u8, u64> {
        self.note_heads(candidates);
        let mut counts = BTreeMap::new();
        let mut left = limit;
        while left > 0 {
            let open = candidates
                .iter()
                .filter(|lane| counts.get(&lane.lane).copied().unwrap_or(0) < lane.count);
            let mut open = open.copied();
            let Some(first) = open.next() else {
                return counts;
            };
            let (lane, count) = match open.min_by_key(|lane| self.heads[&lane.lane].since_turn) {
                None => {
                    let taken = counts.get(&first.lane).copied().unwrap_or(0);
                    (first.lane, left.min(first.count - taken))
                }
                Some(lower) => {
                    self.credit += share_percent;
                    if self.credit >= CREDIT_PER_TURN {
                        self.credit -= CREDIT_PER_TURN;
                        (lower.lane, 1)
                    } else {
                        (first.lane, 1)
                    }
                }
            };
            *counts.entry(lane).or_insert(0) += count;
            left -= count;
            self.last_turn += 1;
            let next = LaneHead {
                place: None,
                since_turn: self.last_turn,
            };
            self.heads.insert(lane, next);
        }
        counts
    }

    /// The heads of the lanes, by lane.
    pub fn heads(&self) -> impl Iterator<Item = (u8, LaneHead)> {
        self.heads.iter().map(|(lane, head)| (*lane, *head))
    }

    /// Notes which entries are at the heads of the lanes now.
    fn note_heads(&mut self, candidates: &[LaneCandidates]) {
        self.heads
            .retain(|lane, _| candidates.iter().any(|found| found.lane == *lane));
        for found in candidates {
            let place = Some(found.first_place);
            match self.heads.get_mut(&found.lane) {
                Some(head) if head.place.is_none() => head.place = place,
                Some(head) if head.place == place => {}
                _ => {
                    self.last_turn += 1;
                    let head = LaneHead {
                        place,
                        since_turn: self.last_turn,
                    };
                    self.heads.insert(found.lane, head);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
