//! The last samples of one queue. Equal samples in a row take the room of one, so that a thousand idle queues cost little.

use std::collections::VecDeque;

use crate::sample::{QueueNumbers, Sample};

/// The most samples of a queue: an hour, at five seconds.
pub(crate) const SAMPLES_MAX: usize = 720;
/// How many points a sparkline has, and how far they are apart.
const POINTS: u64 = 60;
const POINT_MS: u64 = 30_000;
/// Samples of one run are equally far apart, give or take this.
const STEP_TOLERANCE_MS: u64 = 1_000;

/// Equal samples in a row.
#[derive(Debug)]
struct Run {
    first_ms: u64,
    last_ms: u64,
    count: usize,
    numbers: QueueNumbers,
}

impl Run {
    /// The time from one sample to the next.
    fn step_ms(&self) -> Option<u64> {
        let gaps = u64::try_from(self.count - 1).unwrap_or(u64::MAX);
        (self.last_ms - self.first_ms).checked_div(gaps)
    }

    /// Whether a sample continues the run. A gap in time ends it, so that no sample is shown for a time without one.
    fn continues_with(&self, at_ms: u64, numbers: &QueueNumbers, gap_max_ms: u64) -> bool {
        let gap_ms = at_ms.saturating_sub(self.last_ms);
        let is_regular = match self.step_ms() {
            Some(step_ms) => gap_ms.abs_diff(step_ms) <= STEP_TOLERANCE_MS,
            None => gap_ms <= gap_max_ms,
        };
        is_regular && self.numbers == *numbers
    }

    fn samples(&self) -> impl Iterator<Item = Sample> {
        let step_ms = self.step_ms().unwrap_or_default();
        (0..self.count).map(move |number| Sample {
            at_ms: if number + 1 == self.count {
                self.last_ms
            } else {
                self.first_ms + step_ms * number as u64
            },
            numbers: self.numbers.clone(),
        })
    }
}

/// The last samples of one queue, oldest first.
#[derive(Debug, Default)]
pub(crate) struct SampleRing {
    runs: VecDeque<Run>,
    count: usize,
}

impl SampleRing {
    /// Adds a sample. The oldest one goes if there are too many. `gap_max_ms` is the longest time between two samples that
    /// belong together.
    pub(crate) fn push(&mut self, at_ms: u64, numbers: QueueNumbers, gap_max_ms: u64) {
        match self.runs.back_mut() {
            Some(run) if run.continues_with(at_ms, &numbers, gap_max_ms) => {
                run.last_ms = at_ms;
                run.count += 1;
            }
            _ => self.runs.push_back(Run {
                first_ms: at_ms,
                last_ms: at_ms,
                count: 1,
                numbers,
            }),
        }
        self.count += 1;
        if self.count > SAMPLES_MAX {
            self.remove_oldest();
        }
    }

    fn remove_oldest(&mut self) {
        let Some(run) = self.runs.front_mut() else {
            return;
        };
        self.count -= 1;
        match run.step_ms() {
            None => drop(self.runs.pop_front()),
            Some(step_ms) => {
                run.first_ms += step_ms;
                run.count -= 1;
                if run.count == 1 {
                    run.first_ms = run.last_ms;
                }
            }
        }
    }

    /// How many runs of equal samples there are, which is what the ring costs in memory.
    pub(crate) fn runs(&self) -> usize {
        self.runs.len()
    }

    /// Removes the oldest samples until no more than `runs` runs are left.
    pub(crate) fn shorten_to(&mut self, runs: usize) {
        while self.runs.len() > runs {
            let removed = self.runs.pop_front();
            self.count -= removed.map_or(0, |run| run.count);
        }
    }

    /// All samples, oldest first.
    pub(crate) fn samples(&self) -> impl Iterator<Item = Sample> {
        self.runs.iter().flat_map(Run::samples)
    }

    /// The number of waiting entries each half minute of the last half hour, oldest first, as it was last known at the
    /// time. It begins with the first sample.
    pub(crate) fn waiting_points(&self, now_ms: u64) -> Vec<u64> {
        let times = (0..POINTS).rev().map(|ago| now_ms.saturating_sub(ago * POINT_MS));
        let mut runs = self.runs.iter().peekable();
        let mut known = None;
        let mut points = Vec::new();
        for time_ms in times {
            while let Some(run) = runs.next_if(|run| run.first_ms <= time_ms) {
                known = run.numbers.waiting.or(known);
            }
            points.extend(known);
        }
        points
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const STEP_MS: u64 = 5_000;
    const GAP_MAX_MS: u64 = 10_000;

    fn waiting(count: u64) -> QueueNumbers {
        QueueNumbers::from_answer(&json!({ "waiting": count }))
    }

    fn shown(ring: &SampleRing) -> Vec<(u64, Option<u64>)> {
        ring.samples()
            .map(|sample| (sample.at_ms, sample.numbers.waiting))
            .collect()
    }

    /// Equal samples are kept as runs, which must not be noticed.
    #[test]
    fn the_last_720_samples_stay_in_their_order() {
        let mut ring = SampleRing::default();
        // Runs of 1, 2, 3, … equal samples.
        let numbers = (1..).flat_map(|run| std::iter::repeat_n(run, run));
        let all: Vec<(u64, u64)> = numbers
            .enumerate()
            .map(|(at, run)| (at as u64 * STEP_MS, run as u64))
            .take(2_000)
            .collect();
        for (at, (at_ms, count)) in all.iter().enumerate() {
            ring.push(*at_ms, waiting(*count), GAP_MAX_MS);
            let first = (at + 1).saturating_sub(SAMPLES_MAX);
            let expected: Vec<_> = all[first..=at]
                .iter()
                .map(|(at_ms, count)| (*at_ms, Some(*count)))
                .collect();
            assert_eq!(shown(&ring), expected, "after {at}");
        }
        assert!(ring.runs() < 40, "{} runs", ring.runs());
    }

    #[test]
    fn no_sample_is_shown_for_a_time_without_one() {
        let mut ring = SampleRing::default();
        for at_ms in [0, 5_000, 10_000, 600_000, 605_000] {
            ring.push(at_ms, waiting(1), GAP_MAX_MS);
        }
        let times: Vec<_> = ring.samples().map(|sample| sample.at_ms).collect();
        assert_eq!(times, [0, 5_000, 10_000, 600_000, 605_000]);
    }

    #[test]
    fn sparkline_holds_the_last_known_number() {
        let mut ring = SampleRing::default();
        let now_ms = 10_000_000;
        ring.push(now_ms - 95_000, waiting(7), GAP_MAX_MS);
        ring.push(now_ms - 35_000, waiting(9), GAP_MAX_MS);
        assert_eq!(ring.waiting_points(now_ms), [7, 7, 9, 9]);
        for at in 0..SAMPLES_MAX as u64 {
            ring.push(now_ms + at * STEP_MS, waiting(at), GAP_MAX_MS);
        }
        assert_eq!(ring.waiting_points(now_ms + 3_600_000).len(), 60);
    }

    #[test]
    fn a_shortened_ring_keeps_the_newest() {
        let mut ring = SampleRing::default();
        for at in 0..10 {
            ring.push(at * STEP_MS, waiting(at), GAP_MAX_MS);
        }
        ring.shorten_to(2);
        assert_eq!(shown(&ring), [(40_000, Some(8)), (45_000, Some(9))]);
    }
}
