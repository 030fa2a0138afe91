//! How one crowd fared, and how several did together.

use crate::outcome::Outcome;

/// A wait of half an hour, and a minute to each side.
const HALF_HOUR_MS: std::ops::Range<u64> = 29 * 60_000..31 * 60_000;

/// How one crowd fared.
#[derive(Debug, Clone, Copy)]
pub struct Figures {
    /// Polls a visitor.
    pub polls_mean: f64,
    /// Of one in a hundred more.
    pub polls_p99: f64,
    /// Polls a visitor who waited for half an hour, of those who keep to what they are told; `None` where nobody did.
    pub polls_half_hour: Option<f64>,
    /// The most of them.
    pub polls_half_hour_max: u32,
    /// Seconds a visitor is held.
    pub held_seconds: f64,
    /// The most polls that were held at once.
    pub held_max: u64,
    /// The mean wait of those whose turn came, in seconds.
    pub wait_mean_seconds: f64,
    /// The longest, in seconds.
    pub wait_max_seconds: f64,
    /// Turns lost by those who keep to what they are told.
    pub lost_turns: u64,
    /// Turns that nobody claimed.
    pub no_shows: f64,
    /// Admissions above pace and capacity.
    pub overshoot: u64,
}

impl Figures {
    /// Counts a run.
    #[allow(clippy::cast_precision_loss)]
    pub fn of(outcome: &Outcome) -> Self {
        let fates = &outcome.fates;
        let visitors = fates.len().max(1) as f64;
        let mut polls: Vec<u32> = fates.iter().map(|fate| fate.polls).collect();
        polls.sort_unstable();
        let half_hour: Vec<u32> = fates
            .iter()
            .zip(&outcome.keepers)
            .filter(|(fate, keeps)| **keeps && fate.waited_ms.is_some_and(|ms| HALF_HOUR_MS.contains(&ms)))
            .map(|(fate, _)| fate.polls)
            .collect();
        let waits: Vec<u64> = fates.iter().filter_map(|fate| fate.waited_ms).collect();
        let sum = |numbers: &[u32]| numbers.iter().map(|number| u64::from(*number)).sum::<u64>() as f64;
        Self {
            polls_mean: sum(&polls) / visitors,
            polls_p99: polls.get(polls.len() * 99 / 100).copied().unwrap_or(0).into(),
            polls_half_hour: (!half_hour.is_empty()).then(|| sum(&half_hour) / half_hour.len() as f64),
            polls_half_hour_max: half_hour.iter().copied().max().unwrap_or(0),
            held_seconds: fates.iter().map(|fate| u64::from(fate.held_ms)).sum::<u64>() as f64
                / visitors
                / 1_000.0,
            held_max: outcome.held_max,
            wait_mean_seconds: waits.iter().sum::<u64>() as f64 / waits.len().max(1) as f64 / 1_000.0,
            wait_max_seconds: waits.iter().max().copied().unwrap_or(0) as f64 / 1_000.0,
            lost_turns: outcome.lost_turns,
            no_shows: outcome.no_shows as f64,
            overshoot: outcome.overshoot,
        }
    }

    /// Of several runs together: the means; the largest of what is the most of something; and the sum of what is never to
    /// happen.
    pub fn over(runs: &[Self]) -> Self {
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
        }
    }
}

/// The mean; `None` of nothing.
pub fn mean(numbers: impl Iterator<Item = f64>) -> Option<f64> {
    let (count, sum) = numbers.fold((0.0, 0.0), |(count, sum), number| (count + 1.0, sum + number));
    (count > 0.0).then(|| sum / count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(number: u32, polls_half_hour: Option<f64>) -> Figures {
        let mean = f64::from(number);
        Figures {
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
        }
    }

    #[test]
    fn several_runs_are_means_and_the_most_and_the_sum_of_what_must_not_be() {
        let over = Figures::over(&[run(6, None), run(1, Some(40.0)), run(2, Some(50.0))]);
        let means = [
            over.polls_mean,
            over.polls_p99,
            over.held_seconds,
            over.wait_mean_seconds,
            over.no_shows,
        ];
        assert!(means.iter().all(|mean| (mean - 3.0).abs() < 1e-9), "{over:?}");
        assert_eq!(
            over.polls_half_hour,
            Some(45.0),
            "of the runs in which anybody waited so long"
        );
        assert_eq!((over.polls_half_hour_max, over.held_max), (6, 6));
        assert!((over.wait_max_seconds - 6.0).abs() < 1e-9);
        assert_eq!((over.lost_turns, over.overshoot), (9, 9));
        assert_eq!(Figures::over(&[run(6, None)]).polls_half_hour, None);
    }
}
