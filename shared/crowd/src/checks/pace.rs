//! Whether the line kept its pace: the bucket of a queue lets at most one batch and what flows in since then go at once.

use serde::Serialize;

/// A long window has so many intervals.
const LONG_WINDOW_INTERVALS: u64 = 10;

/// The pace that a queue is set to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PaceSetting {
    /// How many entries are promoted per interval.
    pub batch: u64,
    /// The interval, in seconds.
    pub interval_seconds: u64,
}

/// The most admissions in any window of one length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct WindowFigures {
    /// The length of the window, in seconds.
    pub seconds: u64,
    /// The most admissions in such a window.
    pub most: u64,
    /// How many the pace allows.
    pub allowed: u64,
}

/// What the pace came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PaceFigures {
    /// Admissions per second from the first to the last. `None` with fewer than two.
    pub mean_per_second: Option<f64>,
    /// The pace that is set, per second.
    pub set_per_second: f64,
    /// The longest time without an admission between the first and the last, in seconds.
    pub longest_gap_seconds: f64,
    /// The fullest windows.
    pub windows: Vec<WindowFigures>,
}

impl PaceFigures {
    /// Computes the figures of the admissions at these moments, in Unix milliseconds.
    #[allow(clippy::cast_precision_loss)] // Some hundred thousand admissions.
    pub fn of_admissions(mut at_ms: Vec<u64>, pace: PaceSetting) -> Self {
        at_ms.sort_unstable();
        let span_ms = at_ms.last().zip(at_ms.first()).map(|(last, first)| last - first);
        let mean = |span_ms: u64| (at_ms.len() - 1) as f64 * 1_000.0 / span_ms as f64;
        let window = |intervals: u64| WindowFigures {
            seconds: intervals * pace.interval_seconds,
            most: most_within(&at_ms, intervals * pace.interval_seconds * 1_000),
            // A full bucket, and what flows in.
            allowed: pace.batch * (1 + intervals),
        };
        Self {
            mean_per_second: span_ms.filter(|span_ms| *span_ms > 0).map(mean),
            set_per_second: pace.batch as f64 / pace.interval_seconds.max(1) as f64,
            longest_gap_seconds: longest_gap_ms(&at_ms) as f64 / 1_000.0,
            windows: [1, LONG_WINDOW_INTERVALS].map(window).to_vec(),
        }
    }

    /// Whether no window has more admissions than the pace allows.
    pub fn is_kept(&self) -> bool {
        self.windows.iter().all(|window| window.most <= window.allowed)
    }
}

/// The longest time between two of these sorted moments that follow each other.
fn longest_gap_ms(sorted_ms: &[u64]) -> u64 {
    let gaps = sorted_ms.windows(2).map(|pair| pair[1] - pair[0]);
    gaps.max().unwrap_or_default()
}

/// The most of these sorted moments in any window of this length.
fn most_within(sorted_ms: &[u64], window_ms: u64) -> u64 {
    let mut first = 0;
    let mut most = 0;
    for (last, at_ms) in sorted_ms.iter().enumerate() {
        while sorted_ms[first] + window_ms <= *at_ms {
            first += 1;
        }
        most = most.max(last + 1 - first);
    }
    most as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACE: PaceSetting = PaceSetting {
        batch: 10,
        interval_seconds: 2,
    };

    #[test]
    fn a_full_bucket_and_its_flow_are_within_the_pace() {
        let burst = std::iter::repeat_n(0, 10);
        let flow = (1..=40).map(|n| n * 200);
        let figures = PaceFigures::of_admissions(burst.chain(flow).collect(), PACE);
        assert!(figures.is_kept(), "{figures:?}");
        assert_eq!((figures.windows[0].most, figures.windows[0].allowed), (19, 20));
        assert_eq!(
            (figures.windows[1].seconds, figures.windows[1].allowed),
            (20, 110)
        );
        assert!((figures.set_per_second - 5.0).abs() < f64::EPSILON);
        assert!(
            figures
                .mean_per_second
                .is_some_and(|mean| (mean - 6.125).abs() < 0.001)
        );
    }

    #[test]
    fn two_batches_and_one_more_are_too_many() {
        let figures = PaceFigures::of_admissions(vec![0; 21], PACE);
        assert!(!figures.is_kept());
        assert_eq!(figures.mean_per_second, None);
    }

    #[test]
    fn a_pace_that_is_doubled_shows_in_the_long_window() {
        let figures = PaceFigures::of_admissions((0..200).map(|n| n * 100).collect(), PACE);
        assert!((figures.longest_gap_seconds - 0.1).abs() < f64::EPSILON);
        assert_eq!(figures.windows[0].most, 20, "a short window cannot tell");
        assert!(!figures.is_kept());
    }
}
