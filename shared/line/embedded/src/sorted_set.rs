//! A set of members with scores, in the order of the scores. Members of one score are in the order of their bytes.

use std::{
    cmp::Ordering,
    collections::BTreeMap,
    ops::{Bound, Range},
    sync::Arc,
};

use indexset::BTreeSet;

/// A place in the order. Two of them stand for no member: they are before and after all members of a score.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    score: Score,
    at: At,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum At {
    Before,
    Member(Arc<[u8]>),
    After,
}

/// A score, which is never NaN.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Score(f64);

impl Eq for Score {}

impl PartialOrd for Score {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Score {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.partial_cmp(&other.0).unwrap_or(Ordering::Equal)
    }
}

/// An end of a range of scores.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ScoreBound {
    pub(crate) score: f64,
    pub(crate) is_exclusive: bool,
}

/// When [`SortedSet::add`] changes what is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AddRule {
    Always,
    /// Only if the member is new.
    New,
    /// If the member is new, or the score is greater than the one that it has.
    Greater,
}

#[derive(Debug, Default)]
pub(crate) struct SortedSet {
    /// In the order of the members, by which a scan goes on while others change scores.
    scores: BTreeMap<Arc<[u8]>, f64>,
    order: BTreeSet<Place>,
}

impl SortedSet {
    pub(crate) fn len(&self) -> usize {
        self.scores.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.scores.is_empty()
    }

    pub(crate) fn score(&self, member: &[u8]) -> Option<f64> {
        self.scores.get(member).copied()
    }

    /// How many members are before this one.
    pub(crate) fn rank(&self, member: &[u8]) -> Option<usize> {
        let (member, score) = self.scores.get_key_value(member)?;
        Some(self.order.rank(&Place::of(member.clone(), *score)))
    }

    /// Adds a member or changes its score. Returns whether it is new.
    pub(crate) fn add(&mut self, member: &[u8], score: f64, rule: AddRule) -> bool {
        let Some((member, &old)) = self.scores.get_key_value(member) else {
            let member: Arc<[u8]> = member.into();
            self.order.insert(Place::of(member.clone(), score));
            self.scores.insert(member, score);
            return true;
        };
        let may_change = match rule {
            AddRule::Always => true,
            AddRule::New => false,
            AddRule::Greater => score > old,
        };
        #[allow(clippy::float_cmp)] // The same score stays in its place.
        if may_change && score != old {
            let member = member.clone();
            self.order.remove(&Place::of(member.clone(), old));
            self.order.insert(Place::of(member.clone(), score));
            self.scores.insert(member, score);
        }
        false
    }

    /// Removes a member. Returns whether it was there.
    pub(crate) fn remove(&mut self, member: &[u8]) -> bool {
        let Some((member, score)) = self.scores.remove_entry(member) else {
            return false;
        };
        self.order.remove(&Place::of(member, score))
    }

    /// Removes the members of these ranks. Returns how many.
    pub(crate) fn remove_ranks(&mut self, ranks: Range<usize>) -> usize {
        for _ in ranks.clone() {
            let place = self.order.pop_index(ranks.start);
            if let At::Member(member) = place.at {
                self.scores.remove(&member);
            }
        }
        ranks.len()
    }

    /// The ranks of a range as Redis counts: from 0, and from -1 backwards; the last one is included.
    pub(crate) fn ranks_from_to(&self, first: i64, last: i64) -> Range<usize> {
        let len = i64::try_from(self.len()).unwrap_or(i64::MAX);
        let from_start = |rank: i64| if rank < 0 { rank + len } else { rank };
        let (first, end) = (from_start(first).max(0), from_start(last).min(len - 1) + 1);
        let rank = |rank: i64| usize::try_from(rank).unwrap_or(0);
        if first < end { rank(first)..rank(end) } else { 0..0 }
    }

    /// The ranks of the members with scores from `min` to `max`.
    pub(crate) fn ranks_of_scores(&self, min: ScoreBound, max: ScoreBound) -> Range<usize> {
        let first = self.count_before(min.score, min.is_exclusive);
        let end = self.count_before(max.score, !max.is_exclusive);
        first..end.max(first)
    }

    /// The members of these ranks with their scores.
    pub(crate) fn members(&self, ranks: Range<usize>) -> impl Iterator<Item = (&[u8], f64)> {
        // The range of an empty set would look for its first node.
        let ranks = if ranks.is_empty() { None } else { Some(ranks) };
        let places = ranks.into_iter().flat_map(|ranks| self.order.range_idx(ranks));
        places.filter_map(|place| match &place.at {
            At::Member(member) => Some((&**member, place.score.0)),
            At::Before | At::After => None,
        })
    }

    /// The members behind this one in the order of their bytes, with their scores.
    pub(crate) fn members_after(&self, after: Bound<&[u8]>) -> impl Iterator<Item = (&[u8], f64)> {
        let members = self.scores.range::<[u8], _>((after, Bound::Unbounded));
        members.map(|(member, score)| (&**member, *score))
    }

    /// Counts the members with lower scores, and those with this score if `with_equal`.
    fn count_before(&self, score: f64, with_equal: bool) -> usize {
        let at = if with_equal { At::After } else { At::Before };
        self.order.rank(&Place {
            score: Score(score),
            at,
        })
    }
}

impl Place {
    fn of(member: Arc<[u8]>, score: f64) -> Self {
        Self {
            score: Score(score),
            at: At::Member(member),
        }
    }
}

#[cfg(test)]
mod tests;
