//! Runs the simulation. It prints tables over all seeds and the figures as `name=value` lines, and writes a CSV
//! file and a picture of each scenario.
//!
//! Run it with `make simulate`.

use std::{error::Error, fs, path::PathBuf, process::ExitCode, time::Instant};

use vestibule_simulate::{
    plot,
    scenario::{NAMES, Scenario},
    scenario_runs::run_all,
    table,
};

/// The least visitors: the rates of a scenario need some.
const VISITORS_MIN: u32 = 100;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let started = Instant::now();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, visitors, seed, seeds, folder] = &arguments[..] else {
        return Err("usage: vestibule-simulate SCENARIO|all VISITORS SEED SEEDS FOLDER".into());
    };
    let (visitors, seed, seeds): (u32, u64, u64) = (visitors.parse()?, seed.parse()?, seeds.parse()?);
    if visitors < VISITORS_MIN {
        return Err(format!("VISITORS must be at least {VISITORS_MIN}").into());
    }
    if seeds == 0 {
        return Err("SEEDS must be at least 1".into());
    }
    let folder = PathBuf::from(folder);
    fs::create_dir_all(&folder)?;
    let names = if name == "all" {
        NAMES.to_vec()
    } else {
        vec![&**name]
    };
    let by_name = |name: &str| {
        let unknown = || format!("there is no scenario {name}; choose one of {}", NAMES.join(", "));
        Scenario::by_name(name, visitors, seed).ok_or_else(unknown)
    };
    let scenarios = names.into_iter().map(by_name).collect::<Result<_, _>>()?;

    let all = run_all(scenarios, seeds);
    let mut has_violations = false;
    for runs in &all {
        runs.time_series().write_csv(&folder)?;
        plot::draw_plot(&runs.time_series(), &folder)?;
        for (seed, violations) in runs.find_violations() {
            eprintln!(
                "scenario {} with seed {seed}: {violations} violations of pace, capacity or order, or lost turns",
                runs.scenario.name
            );
            has_violations = true;
        }
    }
    print!("{}", table::format_tables(&all));
    println!("wall_s={:.1}", started.elapsed().as_secs_f64());
    Ok(ExitCode::from(u8::from(has_violations)))
}
