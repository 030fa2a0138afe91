//! Probes of the estimated wait. A probe keeps one estimate until the actual wait is known, so that
//! the two can be compared.

use vestibule_domain::score::WaitScore;
use vestibule_line::Report;

/// The most probes that are kept for one queue.
const PROBES_MAX: usize = 64;

/// The probes of one queue.
#[derive(Debug, Default)]
pub(super) struct EstimateProbes {
    generation: u32,
    probes: Vec<EstimateProbe>,
}

/// The estimate that the last visitor in line was shown at a moment.
#[derive(Debug, Clone, Copy)]
struct EstimateProbe {
    score: u64,
    at_ms: u64,
    estimated_ms: u64,
}

impl EstimateProbes {
    /// Keeps the estimate that the last visitor in line is shown now. `told_ms` is `None` if there
    /// is no estimate. When [`PROBES_MAX`] is reached, every other probe is dropped, so that the
    /// probes still cover a long wait from its beginning to its end.
    pub(super) fn add(&mut self, report: &Report, estimated_ms: Option<u64>) {
        if self.generation != report.generation {
            // A reset began a new generation, in which the old places mean nothing.
            self.probes.clear();
            self.generation = report.generation;
        }
        let (Some(score), Some(told_ms)) = (report.tail, estimated_ms) else {
            return;
        };
        if self.probes.len() == PROBES_MAX {
            let mut is_kept = false;
            self.probes.retain(|_| {
                is_kept = !is_kept;
                is_kept
            });
        }
        self.probes.push(EstimateProbe {
            score: WaitScore::raw(score),
            at_ms: report.now_ms,
            estimated_ms: told_ms,
        });
    }

    /// Removes the probes whose place was reached. Returns for each how much longer the actual wait
    /// was than the estimate, in milliseconds, negative if it was shorter. If the line is empty,
    /// the visitors of the remaining probes have left, so these probes are dropped without a
    /// result.
    pub(super) fn take_estimate_errors(
        &mut self,
        promoted_through: u64,
        waiting: u64,
        now_ms: u64,
    ) -> Vec<i64> {
        let errors = self
            .probes
            .extract_if(.., |probe| probe.score <= promoted_through)
            .map(|probe| estimate_error_ms(now_ms.saturating_sub(probe.at_ms), probe.estimated_ms))
            .collect();
        if waiting == 0 {
            self.probes.clear();
        }
        errors
    }
}

fn estimate_error_ms(actual_ms: u64, estimated_ms: u64) -> i64 {
    let signed = |ms: u64| i64::try_from(ms).unwrap_or(i64::MAX);
    signed(actual_ms).saturating_sub(signed(estimated_ms))
}

#[cfg(test)]
mod tests {
    use vestibule_line::QueueEvents;

    use super::*;

    const START_MS: u64 = 1_788_220_800_000;

    fn report(at_ms: u64, waiting: u64, tail: u64) -> Report {
        Report {
            now_ms: START_MS + at_ms,
            waiting,
            ready: 0,
            active: 0,
            journal_len: 0,
            dead_letters: 0,
            backup_lag_ms: 0,
            head: None,
            tail: WaitScore::from_raw(tail),
            tick_age_ms: 0,
            waited_ms: 0,
            waited_max_ms: 0,
            stayed_ms: 0,
            stays: 0,
            events: QueueEvents::default(),
            generation: 1,
            check_age_ms: 0,
            called: 0,
            present: 0,
            absent: 0,
            load_age_ms: None,
        }
    }

    #[test]
    fn estimate_is_compared_when_its_place_is_reached() {
        let mut probes = EstimateProbes::default();
        probes.add(&report(0, 60, 1_060), Some(30_000));
        probes.add(&report(10_000, 80, 1_100), Some(40_000));
        assert_eq!(
            probes.take_estimate_errors(1_059, 41, START_MS + 25_000),
            [0_i64; 0]
        );
        assert_eq!(
            probes.take_estimate_errors(1_060, 40, START_MS + 25_000),
            [-5_000]
        );
        assert_eq!(probes.take_estimate_errors(1_101, 9, START_MS + 62_000), [12_000]);
        assert_eq!(
            probes.take_estimate_errors(2_000, 9, START_MS + 90_000),
            [0_i64; 0],
            "once"
        );
    }

    #[test]
    fn missing_estimate_adds_no_probe() {
        let mut probes = EstimateProbes::default();
        probes.add(&report(0, 60, 1_060), None);
        assert_eq!(
            probes.take_estimate_errors(1_060, 40, START_MS + 600_000),
            [0_i64; 0]
        );
    }

    #[test]
    fn empty_line_or_reset_drops_the_probes() {
        let mut probes = EstimateProbes::default();
        probes.add(&report(0, 60, 1_060), Some(30_000));
        assert_eq!(
            probes.take_estimate_errors(1_000, 0, START_MS + 5_000),
            [0_i64; 0]
        );
        assert_eq!(
            probes.take_estimate_errors(5_000, 3, START_MS + 500_000),
            [0_i64; 0]
        );
        probes.add(&report(0, 60, 1_060), Some(30_000));
        let reset = Report {
            generation: 2,
            ..report(10_000, 1, 7)
        };
        probes.add(&reset, Some(10_000));
        assert_eq!(
            probes.take_estimate_errors(1_060, 1, START_MS + 20_000),
            [0],
            "of the new line alone"
        );
    }

    #[test]
    fn probes_are_bounded_and_keep_the_oldest() {
        let mut probes = EstimateProbes::default();
        for second in 0..10_000 {
            probes.add(&report(second * 1_000, 60, 1_000 + second), Some(30_000));
            assert!(probes.probes.len() <= PROBES_MAX);
        }
        assert_eq!(probes.probes[0].at_ms, START_MS, "the first is still there");
    }
}
