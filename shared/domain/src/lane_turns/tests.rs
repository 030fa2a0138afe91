use proptest::prelude::*;

use super::*;

fn lane(lane: u8, first_place: u64, count: u64) -> LaneCandidates {
    LaneCandidates {
        lane,
        first_place,
        count,
    }
}

/// How many promotions each lane gets in ticks of these sizes, if every lane always has entries.
fn divide_ticks(turns: &mut LaneTurns, lanes: &[u8], share: u64, ticks: &[u64]) -> BTreeMap<u8, u64> {
    let mut counts: BTreeMap<u8, u64> = lanes.iter().map(|lane| (*lane, 0)).collect();
    for limit in ticks {
        let candidates: Vec<_> = lanes
            .iter()
            .map(|number| lane(*number, counts[number] + 1, *limit))
            .collect();
        for (number, count) in turns.divide(&candidates, share, *limit) {
            *counts.entry(number).or_insert(0) += count;
        }
    }
    counts
}

proptest! {
    #[test]
    fn lower_lanes_get_their_share_of_any_ticks(share in 0u64..=50, ticks in prop::collection::vec(1u64..50, 1..60)) {
        let counts = divide_ticks(&mut LaneTurns::default(), &[0, 4], share, &ticks);
        let promoted: u64 = ticks.iter().sum();
        prop_assert_eq!(counts[&0] + counts[&4], promoted);
        prop_assert_eq!(counts[&4], promoted * share / 100);
    }

    #[test]
    fn ticks_of_any_size_add_up_to_the_same(share in 0u64..=50, ticks in prop::collection::vec(1u64..50, 1..40)) {
        let (mut turns, mut one) = (LaneTurns::default(), LaneTurns::default());
        let counts = divide_ticks(&mut turns, &[1, 4, 7], share, &ticks);
        prop_assert_eq!(counts, divide_ticks(&mut one, &[1, 4, 7], share, &[ticks.iter().sum()]));
        prop_assert_eq!(turns.credit, one.credit);
    }
}

#[test]
fn without_a_share_the_first_lane_gets_all() {
    let counts = divide_ticks(&mut LaneTurns::default(), &[2, 4], 0, &[10, 10]);
    assert_eq!(counts, BTreeMap::from([(2, 20), (4, 0)]));
}

#[test]
fn lower_lanes_have_their_turns_one_after_the_other() {
    let counts = divide_ticks(&mut LaneTurns::default(), &[0, 4, 5, 7], 30, &[7; 100]);
    assert_eq!(counts, BTreeMap::from([(0, 490), (4, 70), (5, 70), (7, 70)]));
}

#[test]
fn a_lane_that_has_waited_for_longest_comes_first() {
    let mut turns = LaneTurns::default();
    let two = [lane(0, 1, 9), lane(7, 1, 9)];
    turns.divide(&two, 10, 5);
    // Lane 4 gets an entry only now, so the head of lane 7 is older.
    let three = [lane(0, 6, 9), lane(4, 1, 9), lane(7, 1, 9)];
    assert_eq!(turns.divide(&three, 10, 5), BTreeMap::from([(0, 4), (7, 1)]));
    assert_eq!(turns.divide(&three, 50, 2), BTreeMap::from([(0, 1), (4, 1)]));
}

#[test]
fn lanes_without_competition_save_no_credit() {
    let mut turns = LaneTurns::default();
    assert_eq!(
        turns.divide(&[lane(0, 1, 500)], 10, 500),
        BTreeMap::from([(0, 500)])
    );
    assert_eq!(
        turns.divide(&[lane(4, 1, 500)], 10, 500),
        BTreeMap::from([(4, 500)])
    );
    assert_eq!(turns.credit, 0);
    let both = [lane(0, 1, 90), lane(4, 1, 90)];
    assert_eq!(turns.divide(&both, 10, 9), BTreeMap::from([(0, 9)]));
    assert_eq!(turns.divide(&both, 10, 1), BTreeMap::from([(4, 1)]), "the tenth");
}

#[test]
fn a_lane_that_runs_out_leaves_its_promotions_to_the_next() {
    let mut turns = LaneTurns::default();
    let candidates = [lane(0, 1, 3), lane(4, 1, 2), lane(5, 1, 50)];
    let counts = turns.divide(&candidates, 0, 20);
    assert_eq!(counts, BTreeMap::from([(0, 3), (4, 2), (5, 15)]));
}
