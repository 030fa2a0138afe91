//! The figures of one run, and of several runs together.

use crate::outcome::Outcome;

/// Waits that count as half an hour: 29 to 31 minutes.
const HALF_HOUR_MS: std::ops::Range<u64> = 29 * 60_000..31 * 60_000;

/// The figures of a run.
#[derive(Debug, Clone, Copy)]
pub struct RunFigures {
    /// Polls per visitor.
    pub polls_mean: f64,
    /// The 99th percentile of the polls of a visitor.
    pub polls_p99: f64,
    /// The mean polls of a punctual visitor who waited for half an hour. `None` if there is none.
    pub polls_half_hour: Option<f64>,
    /// The most polls of such a visitor.
    pub polls_half_hour_max: u32,
    /// The mean time that the polls of a visitor were held, in seconds.
    pub held_seconds: f64,
    /// The most polls that were held at the same time.
    pub held_max: u64,
    /// The mean wait of the visitors whose turn came, in seconds.
    pub wait_mean_seconds: f64,
    /// The longest wait, in seconds.
    pub wait_max_seconds: f64,
    /// Turns that punctual visitors lost.
    pub lost_turns: u64,
    /// Turns that were not claimed in time.
    pub no_shows: f64,
    /// Admissions above pace or capacity.
    pub overshoot: u64,
    /// Admissions of a visitor after a visitor who entered later.
    pub out_of_order: u64,
}

impl RunFigures {
    /// Computes the figures of a run.
    #[allow(clippy::cast_precision_loss)]
    pub fn from_outcome(outcome: &Outcome) -> Self {
        let results = &outcome.visitors;
        let visitors = results.len().max(1) as f64;
        let mut polls: Vec<u32> = results.iter().map(|result| result.polls).collect();
        polls.sort_unstable();
        let half_hour: Vec<u32> = results
            .iter()
            .zip(&outcome.is_punctual)
            .filter(|(result, is_punctual)| {
                **is_punctual && result.waited_ms.is_some_and(|ms| HALF_HOUR_MS.contains(&ms))
            })
            .map(|(result, _)| result.polls)
            .collect();
        let waits: Vec<u64> = results.iter().filter_map(|result| result.waited_ms).collect();
        let sum = |numbers: &[u32]| numbers.iter().map(|number| u64::from(*number)).sum::<u64>() as f64;
        Self {
            polls_mean: sum(&polls) / visitors,
            polls_p99: polls.get(polls.len() * 99 / 100).copied().unwrap_or(0).into(),
            polls_half_hour: (!half_hour.is_empty()).then(|| sum(&half_hour) / half_hour.len() as f64),
            polls_half_hour_max: half_hour.iter().copied().max().unwrap_or(0),
            held_seconds: results
                .iter()
                .map(|result| u64::from(result.held_ms))
                .sum::<u64>() as f64
                / visitors
                / 1_000.0,
            held_max: outcome.held_max,
            wait_mean_seconds: waits.iter().sum::<u64>() as f64 / waits.len().max(1) as f64 / 1_000.0,
            wait_max_seconds: waits.iter().max().copied().unwrap_or(0) as f64 / 1_000.0,
            lost_turns: outcome.lost_turns,
            no_shows: outcome.no_shows as f64,
            overshoot: outcome.overshoot,
            out_of_order: outcome.out_of_order,
        }
    }

    /// Combines several runs: the mean of a mean, the largest of a maximum, and the sum of what must never happen.
    pub fn combine(runs: &[Self]) -> Self {
        let means = |of: fn(&Self) -> f64| mean(runs.iter().map(of)).unwrap_or(0.0);
        let count = |of: fn(&Self) -> u64| runs.iter().map(of);
        Self {
            polls_mean: means(|run| run.polls_mean),
            polls_p99: means(|run| run.polls_p99),
            polls_half_hour: mean(runs.iter().filter_map(|run| run.polls_half_hour)),
            polls_half_hour_max: runs.iter().map(|run| run.polls_half_hour_max).max().unwrap_or(0),
            held_seconds: means(|run| run.held_seconds),
            held_max: count(|run| run.held_max).max().unwrap_or(0),
            wait_mean_seconds: means(|run| run.wait_mean_seconds),
            wait_max_seconds: runs.iter().map(|run| run.wait_max_seconds).fold(0.0, f64::max),
            lost_turns: count(|run| run.lost_turns).sum(),
            no_shows: means(|run| run.no_shows),
            overshoot: count(|run| run.overshoot).sum(),
            out_of_order: count(|run| run.out_of_order).sum(),
        }
    }
}

/// The mean, or `None` if there are no numbers.
pub fn mean(numbers: impl Iterator<Item = f64>) -> Option<f64> {
    let (count, sum) = numbers.fold((0.0, 0.0), |(count, sum), number| (count + 1.0, sum + number));
    (count > 0.0).then(|| sum / count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(number: u32, polls_half_hour: Option<f64>) -> RunFigures {
        let mean = f64::from(number);
        RunFigures {
            polls_mean: mean,
            polls_p99: mean,
            polls_half_hour,
            polls_half_hour_max: number,
            held_seconds: mean,
            held_max: number.into(),
            wait_mean_seconds: mean,
            wait_max_seconds: mean,
            lost_turns: number.into(),
            no_shows: mean,
            overshoot: number.into(),
            out_of_order: number.into(),
        }
    }

    #[test]
    fn combining_runs_takes_means_maxima_and_sums() {
        let combined = RunFigures::combine(&[run(6, None), run(1, Some(40.0)), run(2, Some(50.0))]);
        let means = [
            combined.polls_mean,
            combined.polls_p99,
            combined.held_seconds,
            combined.wait_mean_seconds,
            combined.no_shows,
        ];
        assert!(means.iter().all(|mean| (mean - 3.0).abs() < 1e-9), "{combined:?}");
        assert_eq!(
            combined.polls_half_hour,
            Some(45.0),
            "only runs with such a wait count"
        );
        assert_eq!((combined.polls_half_hour_max, combined.held_max), (6, 6));
        assert!((combined.wait_max_seconds - 6.0).abs() < 1e-9);
        assert_eq!((combined.lost_turns, combined.overshoot), (9, 9));
        assert_eq!(RunFigures::combine(&[run(6, None)]).polls_half_hour, None);
    }
}
