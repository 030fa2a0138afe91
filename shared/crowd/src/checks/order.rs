//! Whether the line kept its order: within a lane, the lower place is promoted first.

use std::collections::BTreeMap;

use crate::record::VisitRecord;

/// A turn that a visitor had who followed the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnRecord {
    /// The lane of the entry.
    pub lane: u8,
    /// The order of the entry in its lane.
    pub place: u64,
    /// When the entry was promoted, in Unix milliseconds of the server.
    pub promoted_at_ms: u64,
}

/// How many visitors were promoted later than one behind them in the same lane.
pub fn count_overtaken(turns: &[TurnRecord]) -> u64 {
    let mut lanes = BTreeMap::<u8, Vec<(u64, u64)>>::new();
    for turn in turns {
        lanes
            .entry(turn.lane)
            .or_default()
            .push((turn.place, turn.promoted_at_ms));
    }
    let overtaken_in_lane = |mut turns: Vec<(u64, u64)>| {
        turns.sort_unstable();
        let mut first_behind_ms = u64::MAX;
        let is_overtaken = |(_, promoted_at_ms): &(u64, u64)| {
            let overtaken = *promoted_at_ms > first_behind_ms;
            first_behind_ms = first_behind_ms.min(*promoted_at_ms);
            overtaken
        };
        turns.into_iter().rev().filter(is_overtaken).count() as u64
    };
    lanes.into_values().map(overtaken_in_lane).sum()
}

/// How many visitors who asked as told were promoted later than one behind them in the same lane. One who did not is passed
/// over, and comes later.
pub fn count_overtaken_visits(records: &[VisitRecord]) -> u64 {
    let turn = |record: &VisitRecord| {
        let (lane, place) = record.place?;
        Some(TurnRecord {
            lane,
            place,
            promoted_at_ms: record.promoted_at_ms?,
        })
    };
    let present = |record: &&VisitRecord| record.conduct.is_present_in_line() && !record.has_come_back;
    count_overtaken(
        &records
            .iter()
            .filter(present)
            .filter_map(turn)
            .collect::<Vec<_>>(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turns(places: &[(u8, u64, u64)]) -> Vec<TurnRecord> {
        let turn = |&(lane, place, promoted_at_ms)| TurnRecord {
            lane,
            place,
            promoted_at_ms,
        };
        places.iter().map(turn).collect()
    }

    #[test]
    fn a_line_in_order_has_no_overtaken_visitor() {
        // One tick promotes several at the same moment.
        assert_eq!(count_overtaken(&turns(&[(4, 1, 10), (4, 2, 10), (4, 3, 11)])), 0);
        assert_eq!(count_overtaken(&[]), 0);
    }

    #[test]
    fn each_visitor_who_came_later_than_one_behind_is_counted_once() {
        assert_eq!(
            count_overtaken(&turns(&[(4, 1, 30), (4, 2, 10), (4, 3, 20), (4, 4, 12)])),
            2
        );
    }

    #[test]
    fn a_turn_in_another_lane_overtakes_none() {
        assert_eq!(count_overtaken(&turns(&[(4, 1, 30), (0, 9, 10)])), 0);
    }
}
