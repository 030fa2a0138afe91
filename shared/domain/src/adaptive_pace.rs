//! The pace that follows the load of the protected service. `docs/adr/0038-adaptive-pace.md` has the reasons, and
//! `include/adaptive_pace.lua` the same rules.

use crate::{
    load::{LastLoadReport, LoadReport},
    pace::Pace,
    settings::{LoadMeasure, Settings},
};

/// The pace of a queue at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PaceInForce {
    /// The pace.
    pub pace: Pace,
    /// Whether no entry may be promoted, because the protected service says that it is not healthy, or has not
    /// reported for too long. The pace is the lowest one then. Never in the mode `passthrough`.
    pub is_service_down: bool,
}

impl LoadReport {
    /// The figure that moves an adaptive pace; `None` if the report lacks it.
    pub fn measured(&self, measure: LoadMeasure) -> Option<u32> {
        match measure {
            LoadMeasure::Tps => self.tps,
            LoadMeasure::LatencyMs => self.latency_ms,
        }
    }
}

impl Settings {
    /// The pace in force at `now_ms` (Unix milliseconds of line time) after this load report.
    pub fn pace_in_force(&self, load: Option<LastLoadReport>, now_ms: u64) -> PaceInForce {
        if !self.adaptive {
            return PaceInForce {
                pace: self.pace(),
                is_service_down: false,
            };
        }
        let load = load.filter(|load| load.report.healthy && load.is_valid(now_ms, self.load_ttl_ms()));
        let measured = load.and_then(|load| load.report.measured(self.load_measure));
        PaceInForce {
            pace: Pace {
                batch: measured.map_or(u64::from(self.batch_min), |measured| {
                    self.adaptive_batch(measured)
                }),
                ..self.pace()
            },
            is_service_down: self.follows_load() && load.is_none(),
        }
    }

    /// `load_ttl_seconds` in milliseconds.
    pub fn load_ttl_ms(&self) -> u64 {
        u64::from(self.load_ttl_seconds) * 1_000
    }

    /// Whether load reports move the pace. In the mode `passthrough` no pace counts.
    pub fn follows_load(&self) -> bool {
        self.adaptive && !self.is_passthrough()
    }

    /// The batch at this load: `batch_max` up to `load_low`, `batch_min` from `load_high` on, and on the straight line
    /// between, rounded up.
    fn adaptive_batch(&self, measured: u32) -> u64 {
        let (low, high) = (u64::from(self.load_low), u64::from(self.load_high));
        let (least, most) = (u64::from(self.batch_min), u64::from(self.batch_max));
        match u64::from(measured) {
            load if load >= high => least,
            load if load <= low => most,
            load => most - (most - least) * (load - low) / (high - low),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Mode;

    const NOW_MS: u64 = 1_000_000;

    fn adaptive(load_measure: LoadMeasure) -> Settings {
        Settings {
            adaptive: true,
            batch_min: 10,
            batch_max: 110,
            load_low: 200,
            load_high: 1_200,
            load_measure,
            load_ttl_seconds: 10,
            ..Settings::default()
        }
    }

    fn reported(tps: u32, latency_ms: Option<u32>, healthy: bool) -> LastLoadReport {
        let report = LoadReport {
            tps: Some(tps),
            latency_ms,
            healthy,
        };
        LastLoadReport {
            report,
            at_ms: NOW_MS,
        }
    }

    #[test]
    fn the_batch_falls_in_a_straight_line_with_the_load() {
        let settings = adaptive(LoadMeasure::Tps);
        let batches = [0, 200, 201, 209, 700, 1_199, 1_200, 9_999].map(|tps| {
            let in_force = settings.pace_in_force(Some(reported(tps, None, true)), NOW_MS);
            assert!(!in_force.is_service_down);
            in_force.pace.batch
        });
        assert_eq!(batches, [110, 110, 110, 110, 60, 11, 10, 10]);
    }

    #[test]
    fn the_measure_chooses_the_figure() {
        let settings = adaptive(LoadMeasure::LatencyMs);
        let batch = |load| settings.pace_in_force(Some(load), NOW_MS).pace.batch;
        assert_eq!(batch(reported(9_999, Some(700), true)), 60);
        assert_eq!(
            batch(reported(0, None, true)),
            10,
            "without the figure, the lowest pace"
        );
    }

    #[test]
    fn a_service_is_down_if_it_says_so_or_is_silent() {
        let settings = adaptive(LoadMeasure::Tps);
        let is_down = |load, now_ms| settings.pace_in_force(load, now_ms).is_service_down;
        assert!(is_down(None, NOW_MS));
        assert!(is_down(Some(reported(0, None, false)), NOW_MS));
        assert!(!is_down(Some(reported(0, None, true)), NOW_MS + 9_999));
        assert!(is_down(Some(reported(0, None, true)), NOW_MS + 10_000));
        let passthrough = Settings {
            mode: Mode::Passthrough,
            ..settings.clone()
        };
        assert!(!passthrough.pace_in_force(None, NOW_MS).is_service_down);
        let fixed = Settings {
            adaptive: false,
            ..settings
        };
        let in_force = fixed.pace_in_force(None, NOW_MS);
        assert_eq!((in_force.pace, in_force.is_service_down), (fixed.pace(), false));
    }
}
