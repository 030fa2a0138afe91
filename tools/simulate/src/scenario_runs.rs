//! Runs scenarios with several seeds, each with paced and with fixed clients, on all cores. All visitors of a
//! run share the chances of that run, so only many runs show how often an estimate is right.

use crate::{
    estimate_accuracy::{AccuracySums, WAIT_BOUNDS_SECONDS},
    outcome::{Outcome, Sample},
    parallel::run_on_all_cores,
    run_figures::RunFigures,
    scenario::Scenario,
    simulation::{Clients, run_scenario},
    time_series::TimeSeries,
};

/// The summary of a run, without the result for each visitor.
#[derive(Debug, Clone)]
pub struct RunSummary {
    /// The figures.
    pub figures: RunFigures,
    /// The accuracy of the estimates, by the length of the wait.
    pub estimates: [AccuracySums; WAIT_BOUNDS_SECONDS.len()],
    /// The state of the queue over time.
    pub samples: Vec<Sample>,
}

/// The runs of one scenario: with each seed one run of paced and one of fixed clients.
#[derive(Debug)]
pub struct ScenarioRuns {
    /// The scenario with the first seed.
    pub scenario: Scenario,
    /// The runs with clients that follow `retry_after_ms`.
    pub paced: Vec<RunSummary>,
    /// The runs with clients that poll every three seconds.
    pub fixed: Vec<RunSummary>,
}

impl From<Outcome> for RunSummary {
    fn from(outcome: Outcome) -> Self {
        Self {
            figures: RunFigures::from_outcome(&outcome),
            estimates: outcome.estimates.by_wait,
            samples: outcome.samples,
        }
    }
}

impl ScenarioRuns {
    /// The time series with the first seed.
    pub fn time_series(&self) -> TimeSeries<'_> {
        TimeSeries {
            name: self.scenario.name,
            paced: first_samples(&self.paced),
            fixed: first_samples(&self.fixed),
        }
    }

    /// The accuracy of the estimates over all seeds, by the length of the wait.
    pub fn estimates(&self) -> [AccuracySums; WAIT_BOUNDS_SECONDS.len()] {
        let of_group = |group: usize| self.paced.iter().map(move |run| &run.estimates[group]);
        std::array::from_fn(|group| AccuracySums::total(of_group(group)))
    }

    /// The seeds whose runs violated an invariant, with the number of violations.
    pub fn find_violations(&self) -> impl Iterator<Item = (u64, u64)> {
        let runs = self.paced.iter().zip(&self.fixed);
        let seeds = runs.zip(self.scenario.seed..).map(|((paced, fixed), seed)| {
            let (paced, fixed) = (&paced.figures, &fixed.figures);
            // A fixed client does not follow `retry_after_ms`, so it may lose its turn.
            let of_line = [paced, fixed].map(|run| run.overshoot + run.out_of_order);
            (seed, paced.lost_turns + of_line.iter().sum::<u64>())
        });
        seeds.filter(|(_, violations)| *violations > 0)
    }
}

fn first_samples(runs: &[RunSummary]) -> &[Sample] {
    runs.first().map_or(&[], |run| run.samples.as_slice())
}

/// Runs each scenario with this many seeds, from its own seed on.
///
/// # Panics
/// A run panicked.
pub fn run_all(scenarios: Vec<Scenario>, seeds: u64) -> Vec<ScenarioRuns> {
    let mut jobs = Vec::new();
    for scenario in &scenarios {
        for seed in (scenario.seed..).take(usize::try_from(seeds).unwrap_or(usize::MAX)) {
            for clients in [Clients::Paced, Clients::Fixed] {
                let scenario = Scenario {
                    seed,
                    ..scenario.clone()
                };
                jobs.push((scenario, clients));
            }
        }
    }
    let run = |(scenario, clients): &(Scenario, Clients)| RunSummary::from(run_scenario(scenario, *clients));
    let mut runs = run_on_all_cores(&jobs, run).into_iter();
    let mut collect = |scenario| {
        let (mut paced, mut fixed) = (Vec::new(), Vec::new());
        for _ in 0..seeds {
            paced.extend(runs.next());
            fixed.extend(runs.next());
        }
        ScenarioRuns {
            scenario,
            paced,
            fixed,
        }
    };
    scenarios.into_iter().map(&mut collect).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario(name: &str) -> Scenario {
        Scenario::by_name(name, 300, 5).expect("the scenario exists")
    }

    #[test]
    fn a_run_among_many_equals_the_run_alone() {
        let all = run_all(vec![scenario("flash"), scenario("outages")], 2);
        assert_eq!(all.len(), 2);
        for runs in &all {
            assert_eq!((runs.paced.len(), runs.fixed.len()), (2, 2));
            for (seed, (paced, fixed)) in (5..).zip(runs.paced.iter().zip(&runs.fixed)) {
                let scenario = Scenario {
                    seed,
                    ..scenario(runs.scenario.name)
                };
                for (summary, clients) in [(paced, Clients::Paced), (fixed, Clients::Fixed)] {
                    let alone = RunSummary::from(run_scenario(&scenario, clients));
                    let name = scenario.name;
                    assert_eq!(
                        format!("{:?}", summary.figures),
                        format!("{:?}", alone.figures),
                        "{name} {seed} {clients:?}"
                    );
                    assert_eq!(summary.samples.len(), alone.samples.len());
                }
            }
            assert_eq!(runs.find_violations().count(), 0);
            let shown: u64 = runs.estimates().iter().map(|sums| sums.shown).sum();
            let of_each = runs
                .paced
                .iter()
                .flat_map(|run| &run.estimates)
                .map(|sums| sums.shown);
            assert_eq!(shown, of_each.sum::<u64>());
        }
    }

    #[test]
    fn violations_are_reported_by_seed() {
        let mut runs = run_all(vec![scenario("flash")], 3).remove(0);
        runs.paced[1].figures.lost_turns = 2;
        runs.fixed[2].figures.lost_turns = 7;
        runs.fixed[2].figures.overshoot = 1;
        runs.paced[2].figures.out_of_order = 3;
        assert_eq!(runs.find_violations().collect::<Vec<_>>(), [(6, 2), (7, 4)]);
    }
}
