//! What the runs of the closed loop show.

use std::ops::Range;

use super::{
    INTERVAL_SECONDS, LATENCY_MS_MAX, RECOVERED, RUN_SECONDS, SLOW, STEADY, adaptive_settings,
    constant_settings,
    run::{Second, run},
};
use crate::parallel::run_on_all_cores;

/// The constant paces that are tried.
const CONSTANT_BATCHES: Range<u32> = 30..46;

/// The least throughput of the adaptive pace, as a part of that of the best constant one.
const THROUGHPUT_MIN: f64 = 0.9;

/// The figures of one seed.
#[derive(Debug)]
pub struct AdaptiveFigures {
    /// The seconds of the run with the adaptive pace.
    pub seconds: Vec<Second>,
    /// The highest constant batch with which the latency stayed below its limit as long as the service had its whole
    /// capacity.
    pub best_constant_batch: u32,
    /// Visitors per second in [`STEADY`], with that batch and with the adaptive pace.
    pub best_constant_per_second: f64,
    /// See above.
    pub adaptive_per_second: f64,
    /// The highest latency in [`STEADY`] and in [`RECOVERED`], in milliseconds.
    pub latency_ms_max: u32,
    /// How many seconds after the service became slow the lowest pace was in force; `None` if it never was.
    pub fell_after_seconds: Option<u32>,
    /// For how many seconds the latency was above its limit while the service was slow.
    pub overload_seconds: u32,
}

impl AdaptiveFigures {
    /// Runs the adaptive pace and the constant ones with this seed.
    ///
    /// # Panics
    /// The service does not bear the lowest constant pace.
    pub fn run(seed: u64) -> Self {
        let constant: Vec<u32> = CONSTANT_BATCHES.collect();
        let constant_runs = run_on_all_cores(&constant, |batch| {
            run(&constant_settings(*batch), seed, STEADY.end)
        });
        let bearable = constant.iter().zip(&constant_runs);
        let mut bearable = bearable.filter(|(_, seconds)| max_latency_ms(seconds, STEADY) <= LATENCY_MS_MAX);
        let (best_constant_batch, best) = bearable.next_back().expect("the service bears the lowest pace");
        let seconds = run(&adaptive_settings(), seed, RUN_SECONDS);
        let lowest = u64::from(adaptive_settings().batch_min);
        let slow = || in_range(&seconds, SLOW);
        let fell = slow().find(|second| second.batch == lowest);
        let is_overloaded = |at: &&Second| at.latency_ms > LATENCY_MS_MAX;
        let overloads = slow().filter(is_overloaded).count();
        Self {
            best_constant_batch: *best_constant_batch,
            best_constant_per_second: promoted_per_second(best, STEADY),
            adaptive_per_second: promoted_per_second(&seconds, STEADY),
            latency_ms_max: max_latency_ms(&seconds, STEADY).max(max_latency_ms(&seconds, RECOVERED)),
            fell_after_seconds: fell.map(|at| at.second - SLOW.start),
            overload_seconds: u32::try_from(overloads).unwrap_or(u32::MAX),
            seconds,
        }
    }

    /// Whether the adaptive pace lets in nearly as many visitors as the best constant one, keeps the latency below its
    /// limit, and is the lowest one two intervals after the service became slow.
    pub fn holds_promises(&self) -> bool {
        let is_fast = self.adaptive_per_second >= THROUGHPUT_MIN * self.best_constant_per_second;
        let falls_soon = self
            .fell_after_seconds
            .is_some_and(|seconds| seconds <= 2 * INTERVAL_SECONDS);
        is_fast && falls_soon && self.latency_ms_max <= LATENCY_MS_MAX
    }

    /// The figures as `name=value` lines.
    pub fn format(&self, seed: u64) -> String {
        format!(
            "scenario=adaptive\nseed={seed}\nadaptive_per_second={:.2}\nbest_constant_per_second={:.2}\n\
             best_constant_batch={}\nlatency_ms_limit={LATENCY_MS_MAX}\nlatency_ms_max={}\ninterval_seconds={INTERVAL_SECONDS}\n\
             fell_after_seconds={}\noverload_seconds={}\n",
            self.adaptive_per_second,
            self.best_constant_per_second,
            self.best_constant_batch,
            self.latency_ms_max,
            self.fell_after_seconds
                .map_or_else(|| "never".to_owned(), |seconds| seconds.to_string()),
            self.overload_seconds,
        )
    }
}

fn in_range(seconds: &[Second], range: Range<u32>) -> impl Iterator<Item = &Second> {
    seconds
        .iter()
        .filter(move |second| range.contains(&second.second))
}

fn max_latency_ms(seconds: &[Second], range: Range<u32>) -> u32 {
    let latencies_ms = in_range(seconds, range).map(|second| second.latency_ms);
    latencies_ms.max().unwrap_or_default()
}

#[allow(clippy::cast_precision_loss)]
fn promoted_per_second(seconds: &[Second], range: Range<u32>) -> f64 {
    let length = f64::from(range.end - range.start);
    let promoted: u64 = in_range(seconds, range).map(|second| second.promoted).sum();
    promoted as f64 / length
}
