//! Runs crowds in a deployment with ceilings: with clients that follow the public document, and the scenario `crowd` also
//! with clients that only follow `retry_after_ms`.

use crate::{
    crowd_figures::CrowdFigures,
    crowd_table::{format_crowd, format_crowd_scenario},
    parallel::run_on_all_cores,
    scenario::Scenario,
    simulation::{Clients, run_scenario},
};

/// The scenario whose crowd also runs without the document.
const COMPARED: &str = "crowd";

/// The runs of one crowd with one seed.
#[derive(Debug)]
pub struct CrowdRuns {
    /// The scenario.
    pub scenario: Scenario,
    /// The run with clients that follow the public document.
    pub with_document: CrowdFigures,
    /// The run with clients that only follow `retry_after_ms`, if there is one.
    pub without_document: Option<CrowdFigures>,
}

impl CrowdRuns {
    /// The figures as `name=value` lines.
    pub fn format_figures(&self) -> String {
        let without = self.without_document.as_ref();
        let without = without.map(|figures| format_crowd(figures, "_without_document") + "\n");
        format_crowd_scenario(&self.scenario)
            + "\n"
            + &without.unwrap_or_default()
            + &format_crowd(&self.with_document, "")
    }

    /// Whether the line broke a promise to the protected service, or a client that follows the document lost its turn.
    pub fn has_violations(&self) -> bool {
        let overshoot = self
            .without_document
            .as_ref()
            .map_or(0, |figures| figures.run.overshoot);
        let run = &self.with_document.run;
        overshoot + run.overshoot + run.out_of_order + run.lost_turns > 0
    }
}

/// Runs each crowd with this many seeds, from its own seed on.
///
/// # Panics
/// A run panicked.
pub fn run_crowds(scenarios: Vec<Scenario>, seeds: u64) -> Vec<CrowdRuns> {
    let seeds = usize::try_from(seeds).unwrap_or(usize::MAX);
    let of_scenario = |scenario: Scenario| {
        let from = scenario.seed;
        (from..).take(seeds).map(move |seed| Scenario {
            seed,
            ..scenario.clone()
        })
    };
    let scenarios: Vec<Scenario> = scenarios.into_iter().flat_map(of_scenario).collect();
    let mut jobs = Vec::new();
    for scenario in &scenarios {
        jobs.push((scenario, Clients::Following));
        if scenario.name == COMPARED {
            jobs.push((scenario, Clients::Paced));
        }
    }
    let run = |(scenario, clients): &(&Scenario, Clients)| {
        CrowdFigures::from_outcome(&run_scenario(scenario, *clients))
    };
    let mut runs = run_on_all_cores(&jobs, run).into_iter();
    let mut next = || runs.next().expect("each job has a result");
    let collect = |scenario: Scenario| CrowdRuns {
        with_document: next(),
        without_document: (scenario.name == COMPARED).then(&mut next),
        scenario,
    };
    scenarios.into_iter().map(collect).collect()
}
