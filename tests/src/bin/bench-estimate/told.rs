//! What was told, and what was true.

/// The waits by which estimates are told apart, in seconds.
const BOUNDS_S: [u64; 4] = [10, 30, 60, 120];
/// A shorter wait counts as this long where an error is measured by it, as in the simulation: to be a few seconds off
/// matters little.
const LEAST_S: f64 = 10.0;

/// One estimate that somebody was shown who was called later.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Told {
    pub(crate) low_s: u64,
    pub(crate) high_s: u64,
    /// How long it took from then on.
    pub(crate) truth_ms: u64,
}

impl Told {
    fn holds(&self) -> bool {
        (self.low_s * 1_000..=self.high_s * 1_000).contains(&self.truth_ms)
    }

    /// How far the middle of the range was off, as a part of the truth.
    #[allow(clippy::cast_precision_loss)] // Waits are short.
    fn relative_error(&self) -> f64 {
        let (middle_s, truth_s) = (
            (self.low_s + self.high_s) as f64 / 2.0,
            self.truth_ms as f64 / 1_000.0,
        );
        (middle_s - truth_s).abs() / truth_s.max(LEAST_S)
    }
}

/// The part of the ranges that held the truth.
#[allow(clippy::cast_precision_loss)]
pub(crate) fn coverage(told: &[Told]) -> f64 {
    told.iter().filter(|told| told.holds()).count() as f64 / told.len().max(1) as f64
}

#[allow(clippy::cast_precision_loss)]
pub(crate) fn mean_relative_error(told: &[Told]) -> f64 {
    told.iter().map(Told::relative_error).sum::<f64>() / told.len().max(1) as f64
}

/// Prints both by how long the wait was.
pub(crate) fn table(told: &mut [Told]) {
    told.sort_unstable_by_key(|told| told.truth_ms);
    println!("wait           estimates  coverage  mean relative error");
    let (mut rest, mut from_s) = (&*told, 0);
    for to_s in BOUNDS_S.into_iter().chain([u64::MAX]) {
        let (these, longer) =
            rest.split_at(rest.partition_point(|told| told.truth_ms < to_s.saturating_mul(1_000)));
        let name = if to_s == u64::MAX {
            format!("over {from_s} s")
        } else {
            format!("{from_s} to {to_s} s")
        };
        if !these.is_empty() {
            println!(
                "{name:<13}{:>11}{:>10.3}{:>21.3}",
                these.len(),
                coverage(these),
                mean_relative_error(these)
            );
        }
        (rest, from_s) = (longer, to_s);
    }
}
