//! What the runs show: a table, and whether the promises hold.

use std::fmt::Write;

use super::{DEAD_AFTER_MS, PartsScenario, TICK_MS, outcome::PartsOutcome, run::run};
use crate::parallel::run_on_all_cores;

/// The runs with their scenarios.
#[derive(Debug)]
pub struct PartsFigures(pub Vec<(PartsScenario, PartsOutcome)>);

impl PartsFigures {
    /// Runs all scenarios.
    pub fn run(visitors: u32, seed: u64) -> Self {
        let scenarios = PartsScenario::all(visitors, seed);
        let outcomes = run_on_all_cores(&scenarios, run);
        Self(scenarios.into_iter().zip(outcomes).collect())
    }

    /// Whether every run held its promises.
    pub fn holds_promises(&self) -> bool {
        self.0
            .iter()
            .all(|(scenario, outcome)| holds_promises(scenario, outcome))
    }

    /// The table, in Markdown.
    #[allow(clippy::cast_precision_loss)]
    pub fn format(&self) -> String {
        let mut text = "| parts | case | overtaken | by at most, ms | of the dead part | by at most, s | over capacity | busiest second | \
                        position wrong by, mean | at most | oldest digest, ms | slots taken | line empty after, s |\n\
                        | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n"
            .to_owned();
        for (scenario, outcome) in &self.0 {
            let case = match (&scenario.dead_ms, scenario.lost_percent) {
                (Some(dead), _) => format!("one dead for {} s", (dead.end - dead.start) / 1_000),
                (None, 0) => "late messages".to_owned(),
                (None, percent) => format!("{percent} % of the messages lost"),
            };
            let percent = |count: u64| 100.0 * count as f64 / outcome.turns.max(1) as f64;
            // Writing into a text cannot fail.
            let _ = writeln!(
                text,
                "| {} | {case} | {:.1} % | {:.0} | {:.1} % | {:.1} | {} | {} | {:.1} | {} | {} | {:.1} % | {:.0} |",
                scenario.parts,
                percent(outcome.overtaken),
                outcome.overtaken_us_max as f64 / 1_000.0,
                percent(outcome.overtaken_of_dead),
                outcome.overtaken_of_dead_us_max as f64 / 1e6,
                outcome.over_capacity,
                outcome.turns_per_second_max,
                outcome.position_error_sum as f64 / outcome.positions.max(1) as f64,
                outcome.position_error_max,
                outcome.digest_age_ms_max,
                100.0 * outcome.taken_share,
                outcome.ended_at_ms as f64 / 1_000.0,
            );
        }
        text
    }
}

/// Whether a run held its promises: never over capacity, and without lost messages no visitor of a living part overtaken by
/// more than the clocks differ.
pub fn holds_promises(scenario: &PartsScenario, outcome: &PartsOutcome) -> bool {
    // Two clocks differ by twice the skew, and a place has whole milliseconds.
    let by_clocks_us = if scenario.parts == 1 {
        0
    } else {
        (2 * scenario.skew_ms + 1) * 1_000
    };
    // A lost grant comes with the next tick.
    let is_in_order = scenario.lost_percent > 0 || outcome.overtaken_us_max <= by_clocks_us;
    // Where two seconds meet, there are two batches, and a part that comes back has the grants of the time before it was known
    // to be dead.
    let open_ticks = if scenario.dead_ms.is_some() {
        DEAD_AFTER_MS / TICK_MS
    } else {
        0
    };
    let lost_ticks = if scenario.lost_percent > 0 { 2 } else { 0 };
    let turns_max = scenario.batch() * (2 + open_ticks + lost_ticks);
    outcome.over_capacity == 0 && is_in_order && outcome.turns_per_second_max <= turns_max
}
