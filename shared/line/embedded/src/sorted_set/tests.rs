//! The sorted set against a sorted list.

use std::collections::BTreeMap;

use proptest::{collection::vec, prelude::*};

use super::*;

#[derive(Debug, Clone)]
enum Op {
    Add(u8, i8, u8),
    Remove(u8),
    RemoveRanks(i8, i8),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => (any::<u8>(), -20_i8..20, 0_u8..3).prop_map(|(member, score, rule)| Op::Add(member, score, rule)),
        2 => any::<u8>().prop_map(Op::Remove),
        1 => (any::<i8>(), any::<i8>()).prop_map(|(first, last)| Op::RemoveRanks(first, last)),
    ]
}

fn sorted(list: &BTreeMap<u8, i8>) -> Vec<(u8, i8)> {
    let mut sorted: Vec<_> = list.iter().map(|(member, score)| (*member, *score)).collect();
    sorted.sort_by_key(|(member, score)| (*score, *member));
    sorted
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_set_is_a_sorted_list(ops in vec(op(), 1..300)) {
        let (mut set, mut list) = (SortedSet::default(), BTreeMap::new());
        for op in ops {
            match op {
                Op::Add(member, score, rule) => {
                    let old = list.get(&member).copied();
                    let (rule, changes) = match rule {
                        0 => (AddRule::Always, true),
                        1 => (AddRule::New, old.is_none()),
                        _ => (AddRule::Greater, old.is_none_or(|old| score > old)),
                    };
                    prop_assert_eq!(set.add(&[member], f64::from(score), rule), old.is_none());
                    if changes {
                        list.insert(member, score);
                    }
                }
                Op::Remove(member) => {
                    prop_assert_eq!(set.remove(&[member]), list.remove(&member).is_some());
                }
                Op::RemoveRanks(first, last) => {
                    let ranks = set.ranks_from_to(first.into(), last.into());
                    let removed: Vec<_> = sorted(&list)[ranks.clone()].to_vec();
                    prop_assert_eq!(set.remove_ranks(ranks), removed.len());
                    for (member, _) in removed {
                        list.remove(&member);
                    }
                }
            }
            let expected = sorted(&list);
            prop_assert_eq!(set.len(), expected.len());
            let found: Vec<_> = set.members(0..set.len()).map(|(member, score)| (member.to_vec(), score)).collect();
            let wanted: Vec<_> = expected.iter().map(|(member, score)| (vec![*member], f64::from(*score))).collect();
            prop_assert_eq!(found, wanted);
            for (rank, (member, _)) in expected.iter().enumerate() {
                prop_assert_eq!(set.rank(&[*member]), Some(rank));
            }
            for score in -21..21 {
                for is_exclusive in [false, true] {
                    let bound = ScoreBound { score: f64::from(score), is_exclusive };
                    let all = ScoreBound { score: f64::INFINITY, is_exclusive: false };
                    let above = |own: i8| if is_exclusive { own > score } else { own >= score };
                    let count = expected.iter().filter(|(_, own)| above(*own)).count();
                    prop_assert_eq!(set.ranks_of_scores(bound, all).len(), count);
                }
            }
        }
    }
}
