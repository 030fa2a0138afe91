//! What all benchmarks compute and print.

use std::fmt::Display;

/// Prints a figure with so many decimals. One that is no number, because nothing was measured, is `none`.
pub(crate) fn print_figure(name: impl Display, value: f64, decimals: usize) {
    if value.is_finite() {
        println!("{name}={value:.decimals$}");
    } else {
        println!("{name}=none");
    }
}

/// A count as a number to compute with. Counts here are far below 2^52.
#[expect(clippy::cast_precision_loss, reason = "the numbers are small")]
pub(crate) fn as_f64(count: u64) -> f64 {
    count as f64
}

/// One count relative to another.
pub(crate) fn ratio(count: u64, of: u64) -> f64 {
    as_f64(count) / as_f64(of)
}

/// The mean; `NaN` of no values.
pub(crate) fn mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let (sum, count) = values
        .into_iter()
        .fold((0.0, 0), |(sum, count), value| (sum + value, count + 1));
    sum / as_f64(count)
}

/// A percentile, by the nearest rank; `NaN` of no values.
pub(crate) fn percentile(values: impl IntoIterator<Item = f64>, percent: usize) -> f64 {
    let sorted = sort(values);
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or(f64::NAN)
}

/// The median; `NaN` of no values. Of an even number of values it is the middle of the two in the middle.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let sorted = sort(values);
    let (Some(upper), Some(lower)) = (
        sorted.get(sorted.len() / 2),
        sorted.get(sorted.len().saturating_sub(1) / 2),
    ) else {
        return f64::NAN;
    };
    f64::midpoint(*lower, *upper)
}

fn sort(values: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let mut sorted: Vec<f64> = values.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_the_nearest_rank() {
        let of_200 = [50, 99, 100].map(|percent| percentile((1..=200).map(f64::from), percent));
        assert_eq!(format!("{of_200:?}"), "[100.0, 198.0, 200.0]");
        assert_eq!(
            format!("{:?}", [percentile([7.0], 99), percentile([], 99)]),
            "[7.0, NaN]"
        );
    }

    #[test]
    fn mean_and_median_are_of_all_values() {
        let medians = [median([3.0, 1.0, 2.0]), median([4.0, 1.0, 2.0, 3.0]), median([])];
        assert_eq!(format!("{medians:?}"), "[2.0, 2.5, NaN]");
        assert_eq!(format!("{:?}", [mean([1.0, 2.0, 6.0]), mean([])]), "[3.0, NaN]");
    }
}
