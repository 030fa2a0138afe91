//! Estimates of the wait, remembered until they can be compared with what came of them.

use vestibule_domain::score::WaitScore;
use vestibule_line::Report;

/// The most that are remembered of one queue.
const PROBES_MAX: usize = 64;

/// The estimates of one queue.
#[derive(Debug, Default)]
pub(super) struct Probes {
    generation: u32,
    probes: Vec<Probe>,
}

/// What the last one in line was told at a moment.
#[derive(Debug, Clone, Copy)]
struct Probe {
    score: u64,
    at_ms: u64,
    told_ms: u64,
}

impl Probes {
    /// Remembers what the last one in line is told now, which is nothing where nobody can say. Where there are too many,
    /// every other one goes, so that a long wait is still seen from its beginning to its end.
    pub(super) fn remember(&mut self, report: &Report, told_ms: Option<u64>) {
        if self.generation != report.generation {
            // Another line, where the old places mean nothing.
            self.probes.clear();
            self.generation = report.generation;
        }
        let (Some(score), Some(told_ms)) = (report.tail, told_ms) else {
            return;
        };
        if self.probes.len() == PROBES_MAX {
            let mut is_kept = false;
            self.probes.retain(|_| {
                is_kept = !is_kept;
                is_kept
            });
        }
        self.probes.push(Probe {
            score: WaitScore::raw(score),
            at_ms: report.now_ms,
            told_ms,
        });
    }

    /// How much longer than told it took for those whose place was reached, in milliseconds; less is negative. Where the
    /// line is empty the others left, and nothing came of what they were told.
    pub(super) fn come_true(&mut self, promoted_through: u64, waiting: u64, now_ms: u64) -> Vec<i64> {
        let errors = self
            .probes
            .extract_if(.., |probe| probe.score <= promoted_through)
            .map(|probe| difference(now_ms.saturating_sub(probe.at_ms), probe.told_ms))
            .collect();
        if waiting == 0 {
            self.probes.clear();
        }
        errors
    }
}

fn difference(actual_ms: u64, estimated_ms: u64) -> i64 {
    let signed = |ms: u64| i64::try_from(ms).unwrap_or(i64::MAX);
    signed(actual_ms).saturating_sub(signed(estimated_ms))
}

#[cfg(test)]
mod tests {
    use vestibule_line::Happened;

    use super::*;

    const START_MS: u64 = 1_788_220_800_000;

    fn report(at_ms: u64, waiting: u64, tail: u64) -> Report {
        Report {
            now_ms: START_MS + at_ms,
            waiting,
            ready: 0,
            active: 0,
            journal: 0,
            aside: 0,
            backup_lag_ms: 0,
            head: None,
            tail: WaitScore::from_raw(tail),
            tick_age_ms: 0,
            waited_ms: 0,
            waited_max_ms: 0,
            happened: Happened::default(),
            generation: 1,
            check_age_ms: 0,
        }
    }

    #[test]
    fn an_estimate_is_compared_when_the_place_is_reached() {
        let mut probes = Probes::default();
        probes.remember(&report(0, 60, 1_060), Some(30_000));
        probes.remember(&report(10_000, 80, 1_100), Some(40_000));
        assert_eq!(probes.come_true(1_059, 41, START_MS + 25_000), [0_i64; 0]);
        assert_eq!(probes.come_true(1_060, 40, START_MS + 25_000), [-5_000]);
        assert_eq!(probes.come_true(1_101, 9, START_MS + 62_000), [12_000]);
        assert_eq!(probes.come_true(2_000, 9, START_MS + 90_000), [0_i64; 0], "once");
    }

    #[test]
    fn what_nobody_is_told_does_not_come_true() {
        let mut probes = Probes::default();
        probes.remember(&report(0, 60, 1_060), None);
        assert_eq!(probes.come_true(1_060, 40, START_MS + 600_000), [0_i64; 0]);
    }

    #[test]
    fn what_was_told_to_those_who_left_is_forgotten() {
        let mut probes = Probes::default();
        probes.remember(&report(0, 60, 1_060), Some(30_000));
        assert_eq!(probes.come_true(1_000, 0, START_MS + 5_000), [0_i64; 0]);
        assert_eq!(probes.come_true(5_000, 3, START_MS + 500_000), [0_i64; 0]);
        probes.remember(&report(0, 60, 1_060), Some(30_000));
        let reset = Report {
            generation: 2,
            ..report(10_000, 1, 7)
        };
        probes.remember(&reset, Some(10_000));
        assert_eq!(
            probes.come_true(1_060, 1, START_MS + 20_000),
            [0],
            "of the new line alone"
        );
    }

    #[test]
    fn the_memory_is_bounded_and_reaches_back() {
        let mut probes = Probes::default();
        for second in 0..10_000 {
            probes.remember(&report(second * 1_000, 60, 1_000 + second), Some(30_000));
            assert!(probes.probes.len() <= PROBES_MAX);
        }
        assert_eq!(probes.probes[0].at_ms, START_MS, "the first is still there");
    }
}
