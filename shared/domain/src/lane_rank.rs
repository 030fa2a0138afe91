//! How many promotions it takes until an entry of a lane has its turn: its rank in the whole line, by the rules of
//! `docs/adr/0037-lanes.md`.
//!
//! A later visitor may still enter an earlier lane, so the rank is a range. Its low end is exact if no such visitor comes.
//! Its high end is exact if they come as they came lately: earlier lanes then take the part of the promotions that they
//! took, and never more than `lane_share` leaves them.

use crate::lane::LANES;

/// The lanes of a queue at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LaneLoads {
    /// How many entries are in line, by lane from lane 0 on. Absent ones do not count.
    pub in_line: [u64; LANES as usize],
    /// How many entries went past the head in the last seconds, by lane, in any unit.
    pub speeds: [u64; LANES as usize],
    /// The setting `lane_share`.
    pub share_percent: u64,
}

/// The lowest and the highest number of promotions until an entry has its turn, its own one included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RankRange {
    /// If nobody enters an earlier lane from now on.
    pub low: u64,
    /// If visitors enter earlier lanes as they did lately; `u64::MAX` if the lane then has no turn at all.
    pub high: u64,
}

impl LaneLoads {
    /// Whether the lanes share the promotions now, or did lately. Otherwise the rank of an entry is its position.
    pub fn has_competition(&self) -> bool {
        let is_used = |lane: &usize| self.in_line[*lane] > 0 || self.speeds[*lane] > 0;
        (0..usize::from(LANES)).filter(is_used).count() > 1
    }

    /// Whether the rank of an entry is only the expected one, because lower lanes get a share of the turns.
    pub fn is_rank_expected(&self) -> bool {
        self.share_percent > 0 && self.has_competition()
    }

    /// The ranks of the entry at this position of its lane.
    pub fn rank(&self, lane: u8, position: u64) -> RankRange {
        let low = self.rank_of_those_in_line(lane, position);
        RankRange {
            low,
            high: low.max(self.rank_with_arrivals(lane, position)),
        }
    }

    /// Follows the turns of the lanes until the entry has its own. As long as the same lanes have entries, the first one
    /// gets what `lane_share` leaves, and the others get equal parts of the share.
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss
    )]
    fn rank_of_those_in_line(&self, lane: u8, position: u64) -> u64 {
        let own = usize::from(lane);
        let mut left = self.in_line.map(|count| count as f64);
        // The count may be a second older than the position.
        left[own] = left[own].max(position as f64);
        let (mut ahead, mut promotions) = (position as f64, 0.0);
        loop {
            let parts = self.divide_promotions(&left);
            // Until the entry has its turn, or one of the lanes is empty.
            let phase = (0..left.len())
                .filter(|lane| parts[*lane] > 0.0)
                .map(|lane| left[lane] / parts[lane])
                .fold(ahead / parts[own], f64::min);
            promotions += phase;
            ahead -= phase * parts[own];
            if ahead <= 1e-6 {
                return (promotions - 1e-6).ceil() as u64;
            }
            for (left, part) in left.iter_mut().zip(parts) {
                *left -= phase * part;
                if *left <= 1e-6 {
                    *left = 0.0;
                }
            }
        }
    }

    /// Which part of the promotions each lane gets while these have entries.
    #[allow(clippy::cast_precision_loss)]
    fn divide_promotions(&self, left: &[f64; LANES as usize]) -> [f64; LANES as usize] {
        let lower = left.iter().filter(|left| **left > 0.0).count().saturating_sub(1);
        let share = if lower > 0 {
            self.share_percent as f64 / 100.0
        } else {
            0.0
        };
        let first = left.iter().position(|left| *left > 0.0);
        std::array::from_fn(|lane| {
            if Some(lane) == first {
                1.0 - share
            } else if left[lane] > 0.0 {
                share / lower as f64
            } else {
                0.0
            }
        })
    }

    /// The rank if earlier lanes go on to take the part of the promotions that they took lately.
    fn rank_with_arrivals(&self, lane: u8, position: u64) -> u64 {
        let own = usize::from(lane);
        let earlier: u64 = self.speeds[..own].iter().sum();
        if earlier == 0 {
            return position;
        }
        let all: u64 = self.speeds.iter().sum();
        // The lower lanes that have entries or had turns share what is left for them.
        let is_used = |lane: &usize| *lane == own || self.in_line[*lane] > 0 || self.speeds[*lane] > 0;
        let lanes = u64::try_from((0..usize::from(LANES)).filter(is_used).count()).unwrap_or(u64::MAX);
        let by_share = (position * (lanes - 1) * 100).checked_div(self.share_percent);
        let by_speed = (position * all).checked_div(all - earlier);
        match (by_share, by_speed) {
            (Some(by_share), Some(by_speed)) => by_share.min(by_speed),
            (by_share, by_speed) => by_share.or(by_speed).unwrap_or(u64::MAX),
        }
    }
}

#[cfg(test)]
mod tests;
