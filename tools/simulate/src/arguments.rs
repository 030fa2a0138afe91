//! The arguments of the program, as `infra/simulate.sh` passes them.

use std::{error::Error, path::PathBuf};

use crate::{
    crowd_scenarios::{CROWD_NAMES, CrowdParameters, crowd_by_name},
    scenario::{NAMES, Scenario},
};

/// The least visitors: the rates of a scenario need some.
const VISITORS_MIN: u32 = 100;

/// The scenarios of a queue, and how to run them.
#[derive(Debug)]
pub struct Arguments {
    /// The scenarios, with the first seed.
    pub scenarios: Vec<Scenario>,
    /// The number of seeds.
    pub seeds: u64,
    /// The folder for CSV files and pictures.
    pub folder: PathBuf,
    /// Whether the deployment has ceilings.
    pub has_ceilings: bool,
}

/// What to simulate.
#[derive(Debug)]
pub enum Order {
    /// Scenarios of a queue.
    Scenarios(Arguments),
    /// The closed loop of a pace that follows the load of a service. It has no other parameters.
    AdaptivePace {
        /// The seed of all random draws.
        seed: u64,
        /// The folder for CSV files and pictures.
        folder: PathBuf,
    },
}

impl Order {
    /// Parses the arguments of [`Arguments::parse`], in which `adaptive` is a scenario of its own.
    ///
    /// # Errors
    /// As [`Arguments::parse`].
    pub fn parse(arguments: &[String]) -> Result<Self, Box<dyn Error>> {
        match arguments {
            [name, _, seed, _, folder, ..] if name == "adaptive" => Ok(Self::AdaptivePace {
                seed: seed.parse()?,
                folder: folder.into(),
            }),
            _ => Arguments::parse(arguments).map(Self::Scenarios),
        }
    }
}

impl Arguments {
    /// Parses `SCENARIO VISITORS SEED SEEDS FOLDER CEILING CHECKS WAIT_MINUTES`. `all` names all scenarios. `CEILING` is the
    /// number of entry polls per second that the slot answers, or `none`.
    ///
    /// # Errors
    /// An argument is missing or out of its range.
    pub fn parse(arguments: &[String]) -> Result<Self, Box<dyn Error>> {
        let [name, visitors, seed, seeds, folder, ceiling, checks, wait_minutes] = arguments else {
            return Err(
                "usage: vestibule-simulate SCENARIO|all VISITORS SEED SEEDS FOLDER CEILING|none CHECKS"
                    .into(),
            );
        };
        let (visitors, seed, seeds): (u32, u64, u64) = (visitors.parse()?, seed.parse()?, seeds.parse()?);
        if visitors < VISITORS_MIN {
            return Err(format!("VISITORS must be at least {VISITORS_MIN}").into());
        }
        if seeds == 0 {
            return Err("SEEDS must be at least 1".into());
        }
        let slot = match &**ceiling {
            "none" => None,
            number => Some(number.parse::<u32>().ok().filter(|slot| *slot > 0)),
        };
        let slot = slot
            .map(|slot| slot.ok_or("CEILING must be a number of polls per second, or none"))
            .transpose()?;
        let (checks, wait_minutes): (u32, u16) = (checks.parse()?, wait_minutes.parse()?);
        let crowd = |slot_polls_per_second| CrowdParameters {
            visitors,
            seed,
            slot_polls_per_second,
            checks,
            wait_seconds: u32::from(wait_minutes) * 60,
        };
        let known = if slot.is_some() {
            CROWD_NAMES.as_slice()
        } else {
            NAMES.as_slice()
        };
        let by_name = |name: &str| match slot {
            Some(slot) => crowd_by_name(name, crowd(slot)),
            None => Scenario::by_name(name, visitors, seed),
        };
        let names = if name == "all" { known } else { &[&**name] };
        let unknown = |name: &str| {
            format!(
                "with CEILING={ceiling} there is no scenario {name}; choose one of {}",
                known.join(", ")
            )
        };
        let scenarios = names
            .iter()
            .map(|name| by_name(name).ok_or_else(|| unknown(name)))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            scenarios,
            seeds,
            folder: PathBuf::from(folder),
            has_ceilings: slot.is_some(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Arguments, String> {
        let arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
        Arguments::parse(&arguments).map_err(|error| error.to_string())
    }

    #[test]
    fn the_ceiling_decides_which_scenarios_there_are() {
        let crowds = parse("all 1000 1 1 target 2900 0 0").expect("valid");
        assert!(crowds.has_ceilings);
        assert_eq!(crowds.scenarios.len(), CROWD_NAMES.len());
        let old = parse("all 1000 1 2 target none 0 0").expect("valid");
        assert_eq!((old.has_ceilings, old.scenarios.len()), (false, NAMES.len()));
        let node = parse("crowd 1000 1 1 target 40000 6 0").expect("valid");
        let deployment = &node.scenarios[0].deployment;
        assert_eq!(deployment.checks, 6);
        let ceilings = deployment.ceilings.expect("a crowd has ceilings");
        assert_eq!(ceilings.slot_polls_per_second, 40_000);
    }

    #[test]
    fn the_adaptive_pace_is_an_order_of_its_own() {
        let order = |line: &str| {
            let arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
            Order::parse(&arguments).map_err(|error| error.to_string())
        };
        assert!(matches!(
            order("adaptive 1000 7 1 target none 0 0"),
            Ok(Order::AdaptivePace { seed: 7, .. })
        ));
        assert!(matches!(
            order("all 1000 1 1 target 2900 0 0"),
            Ok(Order::Scenarios(_))
        ));
    }

    #[test]
    fn a_wrong_argument_is_refused_by_name() {
        for (line, text) in [
            ("flash 1000 1 1 target 2900 0 0", "no scenario flash"),
            ("crowd 1000 1 1 target none 0 0", "no scenario crowd"),
            ("crowd 99 1 1 target 2900 0 0", "VISITORS"),
            ("crowd 1000 1 0 target 2900 0 0", "SEEDS"),
            ("crowd 1000 1 1 target 0 0 0", "CEILING"),
            ("crowd 1000 1 1 target many 0 0", "CEILING"),
            ("crowd 1000", "usage"),
        ] {
            let error = parse(line).expect_err(line);
            assert!(error.contains(text), "{line}: {error}");
        }
    }
}
