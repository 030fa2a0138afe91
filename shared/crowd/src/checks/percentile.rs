//! Percentiles by the nearest rank, and how far off they may be if some numbers are not known.

/// The rank of a percentile among `count` numbers, from 1.
fn rank(count: usize, percent: usize) -> usize {
    (count * percent).div_ceil(100).max(1)
}

/// A percentile of sorted numbers. `None` if there are none.
pub fn percentile<T: Copy>(sorted: &[T], percent: usize) -> Option<T> {
    sorted.get(rank(sorted.len(), percent) - 1).copied()
}

/// The least and the greatest value that a percentile can have if `unknown` further numbers, whatever they are, belong to
/// the sorted ones. `None` stands for a bound that the known numbers do not give.
pub fn percentile_bounds(sorted: &[u64], unknown: usize, percent: usize) -> (Option<u64>, Option<u64>) {
    let rank = rank(sorted.len() + unknown, percent);
    // All unknown numbers are less, or all are greater.
    let low = (rank.checked_sub(unknown + 1)).and_then(|at| sorted.get(at).copied());
    (low, sorted.get(rank - 1).copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_the_nearest_rank() {
        let numbers: Vec<u64> = (1..=200).collect();
        assert_eq!(
            (percentile(&numbers, 50), percentile(&numbers, 99)),
            (Some(100), Some(198))
        );
        assert_eq!(
            (percentile(&[7_u64], 99), percentile::<u64>(&[], 99)),
            (Some(7), None)
        );
    }

    #[test]
    fn unknown_numbers_widen_the_bounds_of_a_percentile() {
        let numbers: Vec<u64> = (1..=100).collect();
        assert_eq!(percentile_bounds(&numbers, 0, 50), (Some(50), Some(50)));
        assert_eq!(percentile_bounds(&numbers, 10, 50), (Some(45), Some(55)));
        // The greatest ones may all be unknown.
        assert_eq!(percentile_bounds(&numbers, 10, 99), (Some(99), None));
        assert_eq!(percentile_bounds(&[], 3, 50), (None, None));
    }
}
