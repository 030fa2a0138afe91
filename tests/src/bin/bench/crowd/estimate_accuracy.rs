//! The wait estimates and the true waits.

use crate::figures::{as_f64, mean, ratio};

/// The upper bounds of the times by which estimates are grouped, in seconds.
const BOUNDS_S: [u64; 4] = [10, 30, 60, 120];
/// The shortest wait against which an error is measured, in seconds, as in the simulation. A few seconds of
/// error in a short wait do not matter.
const ERROR_BASE_S_MIN: f64 = 10.0;

/// An estimate that was shown to a visitor whose turn came later.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ShownEstimate {
    /// When it was shown, in Unix milliseconds.
    pub(crate) shown_at_ms: u64,
    pub(crate) low_s: u64,
    pub(crate) high_s: u64,
    /// The true wait from then on, in milliseconds.
    pub(crate) wait_ms: u64,
    /// Whether the client computed it from a document. If not, it is of an answer about the entry.
    pub(crate) is_by_document: bool,
}

impl ShownEstimate {
    fn contains_wait(&self) -> bool {
        (self.low_s * 1_000..=self.high_s * 1_000).contains(&self.wait_ms)
    }

    /// The distance of the middle of the range from the wait, relative to the wait.
    fn relative_error(&self) -> f64 {
        self.relative_bias().abs()
    }

    /// How much the middle of the range is longer than the wait, relative to the wait.
    fn relative_bias(&self) -> f64 {
        let (middle_s, wait_s) = (
            as_f64(self.low_s + self.high_s) / 2.0,
            as_f64(self.wait_ms) / 1_000.0,
        );
        (middle_s - wait_s) / wait_s.max(ERROR_BASE_S_MIN)
    }

    /// The width of the range, relative to its middle.
    fn relative_width(&self) -> f64 {
        2.0 * ratio(self.high_s - self.low_s, (self.low_s + self.high_s).max(1))
    }
}

/// The share of ranges that contained the wait.
pub(crate) fn coverage(estimates: &[ShownEstimate]) -> f64 {
    mean(
        estimates
            .iter()
            .map(|estimate| as_f64(estimate.contains_wait().into())),
    )
}

pub(crate) fn mean_relative_error(estimates: &[ShownEstimate]) -> f64 {
    mean(estimates.iter().map(ShownEstimate::relative_error))
}

/// The mean width of the ranges, relative to their middle.
pub(crate) fn mean_relative_width(estimates: &[ShownEstimate]) -> f64 {
    mean(estimates.iter().map(ShownEstimate::relative_width))
}

/// Prints the coverage, the error, the bias and the width, by the length of the wait and by the age of the crowd.
pub(crate) fn print_tables(estimates: &mut [ShownEstimate]) {
    let began_at_ms = estimates.iter().map(|estimate| estimate.shown_at_ms).min();
    let began_at_ms = began_at_ms.unwrap_or(0);
    print_table("wait", estimates, |estimate| estimate.wait_ms);
    print_table("shown after", estimates, |estimate| {
        estimate.shown_at_ms - began_at_ms
    });
}

fn print_table(title: &str, estimates: &mut [ShownEstimate], ms: impl Fn(&ShownEstimate) -> u64) {
    estimates.sort_unstable_by_key(&ms);
    println!("{title:<13}  estimates  coverage  mean relative error  mean bias  mean width");
    let (mut rest, mut from_s) = (&*estimates, 0);
    for to_s in BOUNDS_S.into_iter().chain([u64::MAX]) {
        let (these, longer) =
            rest.split_at(rest.partition_point(|estimate| ms(estimate) < to_s.saturating_mul(1_000)));
        let name = if to_s == u64::MAX {
            format!("over {from_s} s")
        } else {
            format!("{from_s} to {to_s} s")
        };
        if !these.is_empty() {
            println!(
                "{name:<13}{:>11}{:>10.3}{:>21.3}{:>11.3}{:>12.3}",
                these.len(),
                coverage(these),
                mean_relative_error(these),
                mean(these.iter().map(ShownEstimate::relative_bias)),
                mean_relative_width(these)
            );
        }
        (rest, from_s) = (longer, to_s);
    }
}
