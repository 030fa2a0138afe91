use proptest::prelude::*;

use super::*;

fn loads(in_line: [u64; 8], share_percent: u64) -> LaneLoads {
    LaneLoads {
        in_line,
        speeds: [0; 8],
        share_percent,
    }
}

/// Counts the promotions until the entry has its turn, one by one: each that lanes compete for adds the share to a credit,
/// and at a whole promotion the lower lane has the turn that has waited for longest.
fn count_turns(in_line: [u64; 8], share_percent: u64, lane: u8, position: u64) -> u64 {
    let (mut left, mut credit, mut last_turns, mut served) = (in_line, 0, [0; 8], 0);
    for count in 1.. {
        let mut competing = (0..usize::from(LANES)).filter(|lane| left[*lane] > 0);
        let mut promoted = competing.next().expect("an entry is promoted");
        if let Some(lower) = competing.min_by_key(|lane| last_turns[*lane]) {
            credit += share_percent;
            if credit >= 100 {
                (promoted, credit) = (lower, credit - 100);
            }
        }
        left[promoted] -= 1;
        last_turns[promoted] = count;
        served += u64::from(promoted == usize::from(lane));
        if served == position {
            return count;
        }
    }
    unreachable!("each entry has its turn")
}

#[test]
fn in_one_lane_the_rank_is_the_position() {
    let alone = loads([0, 0, 0, 0, 900, 0, 0, 0], 10);
    assert!(!alone.has_competition());
    for position in [1, 450, 900, 901] {
        let RankRange { low, high } = alone.rank(4, position);
        assert_eq!((low, high), (position, position));
    }
}

#[test]
fn entries_of_earlier_lanes_go_first() {
    let strict = loads([30, 0, 0, 0, 100, 0, 0, 0], 0);
    assert!(strict.has_competition());
    assert_eq!(strict.rank(4, 1).low, 31);
    assert_eq!(strict.rank(4, 100).low, 130);
    assert_eq!(
        strict.rank(0, 30).low,
        30,
        "later lanes cost an earlier one nothing"
    );
}

#[test]
fn the_share_lets_a_late_lane_pass_a_long_early_one() {
    let shared = loads([900, 0, 0, 0, 100, 0, 0, 0], 10);
    assert_eq!(shared.rank(4, 1).low, 10, "each tenth promotion");
    assert_eq!(shared.rank(4, 50).low, 500);
    assert_eq!(shared.rank(0, 90).low, 100, "the early lane gets the other nine");
    let three = loads([900, 0, 0, 0, 100, 100, 0, 0], 10);
    assert_eq!(three.rank(4, 10).low, 200, "two late lanes have turns in turn");
}

#[test]
fn arrivals_in_earlier_lanes_lengthen_the_rank() {
    let mut flooded = loads([1, 0, 0, 0, 100, 0, 0, 0], 10);
    assert_eq!(flooded.rank(4, 50), RankRange { low: 51, high: 51 });
    flooded.speeds = [3, 0, 0, 0, 1, 0, 0, 0];
    assert_eq!(
        flooded.rank(4, 50),
        RankRange { low: 51, high: 200 },
        "a quarter of the promotions is left"
    );
    flooded.speeds = [99, 0, 0, 0, 1, 0, 0, 0];
    assert_eq!(flooded.rank(4, 50).high, 500, "the share is left whoever comes");
    let first = flooded.rank(0, 1);
    assert_eq!(
        (first.low, first.high),
        (2, 2),
        "no lane is before the first, but the share may come first"
    );
    flooded.share_percent = 0;
    flooded.speeds = [99, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(
        flooded.rank(4, 50).high,
        u64::MAX,
        "without a share it may never come"
    );
}

proptest! {
    #[test]
    fn rank_is_that_of_the_turns_one_by_one(
        in_line in prop::array::uniform8(0_u64..40),
        share_percent in 0_u64..=50,
        lane in 0_u8..8,
        part in 0.0_f64..1.0,
    ) {
        let own = in_line[usize::from(lane)];
        prop_assume!(own > 0);
        #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let position = ((own as f64 * part) as u64).max(1);
        let rank = loads(in_line, share_percent).rank(lane, position).low;
        let turns = count_turns(in_line, share_percent, lane, position);
        // Turns are whole, so the lower lanes may have theirs some promotions earlier or later.
        let lanes = in_line.iter().filter(|count| **count > 0).count() as u64;
        let slack = 100_u64.checked_div(share_percent).map_or(lanes, |turn| lanes * (turn + 1));
        prop_assert!(rank <= turns + slack, "{rank} and {turns}");
        prop_assert!(turns <= rank + slack, "told {rank}, and it takes {turns}");
    }
}
