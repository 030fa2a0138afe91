//! Scenarios with several seeds, both crowds of each, on all cores. A run is one draw of chance, and everybody in its line
//! shares it: how often a range held the truth shows over many runs only.

use std::{
    num::NonZero,
    panic::resume_unwind,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use crate::{
    course::Course,
    figures::Figures,
    outcome::{Outcome, Sample},
    scenario::Scenario,
    told::{Held, WAITS_SECONDS, together},
    world::{Clients, run},
};

/// What is kept of a run: not what each visitor did.
#[derive(Debug, Clone)]
pub struct Run {
    /// How the crowd fared.
    pub figures: Figures,
    /// What people were told, by the length of the wait.
    pub told: [Held; WAITS_SECONDS.len()],
    /// The course of things.
    pub samples: Vec<Sample>,
}

/// One scenario, a run of each crowd for each seed.
#[derive(Debug)]
pub struct Series {
    /// With the first seed.
    pub scenario: Scenario,
    /// Clients that keep to what they are told.
    pub paced: Vec<Run>,
    /// Clients that poll every three seconds.
    pub fixed: Vec<Run>,
}

impl From<Outcome> for Run {
    fn from(outcome: Outcome) -> Self {
        Self {
            figures: Figures::of(&outcome),
            told: outcome.told.held,
            samples: outcome.samples,
        }
    }
}

impl Series {
    /// The course with the first seed.
    pub fn course(&self) -> Course<'_> {
        Course {
            name: self.scenario.name,
            paced: first_course(&self.paced),
            fixed: first_course(&self.fixed),
        }
    }

    /// What people were told, with all seeds, by the length of the wait.
    pub fn told(&self) -> [Held; WAITS_SECONDS.len()] {
        let of_wait = |wait: usize| self.paced.iter().map(move |run| &run.told[wait]);
        std::array::from_fn(|wait| together(of_wait(wait)))
    }

    /// The seeds whose run broke a promise, and how often.
    pub fn broken(&self) -> impl Iterator<Item = (u64, u64)> {
        let runs = self.paced.iter().zip(&self.fixed);
        let seeds = runs.zip(self.scenario.seed..).map(|((paced, fixed), seed)| {
            let (paced, fixed) = (&paced.figures, &fixed.figures);
            // A fixed poll promises nothing to those who keep to it.
            (seed, paced.lost_turns + paced.overshoot + fixed.overshoot)
        });
        seeds.filter(|(_, broken)| *broken > 0)
    }
}

fn first_course(runs: &[Run]) -> &[Sample] {
    runs.first().map_or(&[], |run| run.samples.as_slice())
}

/// Runs each of these scenarios with so many seeds, from its own on.
///
/// # Panics
/// Where a run does.
pub fn run_all(scenarios: Vec<Scenario>, seeds: u64) -> Vec<Series> {
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
    let mut runs = on_all_cores(&jobs).into_iter();
    let mut series = |scenario| {
        let (mut paced, mut fixed) = (Vec::new(), Vec::new());
        for _ in 0..seeds {
            paced.extend(runs.next());
            fixed.extend(runs.next());
        }
        Series {
            scenario,
            paced,
            fixed,
        }
    };
    scenarios.into_iter().map(&mut series).collect()
}

/// In the order of the jobs, whichever is done first.
fn on_all_cores(jobs: &[(Scenario, Clients)]) -> Vec<Run> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some((scenario, clients)) = jobs.get(index) else {
                return;
            };
            let ran = Run::from(run(scenario, *clients));
            done.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push((index, ran));
        }
    };
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.min(jobs.len())).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            worker.join().unwrap_or_else(|panic| resume_unwind(panic));
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, ran)| ran).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario(name: &str) -> Scenario {
        Scenario::named(name, 300, 5).expect("one of the names")
    }

    #[test]
    fn each_seed_is_the_run_that_it_is_alone() {
        let all = run_all(vec![scenario("flash"), scenario("outages")], 2);
        assert_eq!(all.len(), 2);
        for series in &all {
            assert_eq!((series.paced.len(), series.fixed.len()), (2, 2));
            for (seed, (paced, fixed)) in (5..).zip(series.paced.iter().zip(&series.fixed)) {
                let scenario = Scenario {
                    seed,
                    ..scenario(series.scenario.name)
                };
                for (ran, clients) in [(paced, Clients::Paced), (fixed, Clients::Fixed)] {
                    let alone = Run::from(run(&scenario, clients));
                    let name = scenario.name;
                    assert_eq!(
                        format!("{:?}", ran.figures),
                        format!("{:?}", alone.figures),
                        "{name} {seed} {clients:?}"
                    );
                    assert_eq!(ran.samples.len(), alone.samples.len());
                }
            }
            assert_eq!(series.broken().count(), 0);
            let shown: u64 = series.told().iter().map(|held| held.shown).sum();
            let of_each = series
                .paced
                .iter()
                .flat_map(|run| &run.told)
                .map(|held| held.shown);
            assert_eq!(shown, of_each.sum::<u64>());
        }
    }

    #[test]
    fn a_broken_promise_is_told_with_its_seed() {
        let mut series = run_all(vec![scenario("flash")], 3).remove(0);
        series.paced[1].figures.lost_turns = 2;
        series.fixed[2].figures.lost_turns = 7;
        series.fixed[2].figures.overshoot = 1;
        assert_eq!(series.broken().collect::<Vec<_>>(), [(6, 2), (7, 1)]);
    }
}
