//! Runs the simulation. It prints the figures as `name=value` lines. Without ceilings it also prints tables over all
//! seeds, and writes a CSV file and a picture of each scenario. `adaptive` is a scenario of its own.
//!
//! Run it with `make simulate`.

use std::{error::Error, fs, path::Path, process::ExitCode, time::Instant};

use vestibule_simulate::{
    adaptive::{figures::AdaptiveFigures, picture},
    arguments::{Arguments, Order},
    crowd_runs::run_crowds,
    plot,
    scenario_runs::run_all,
    table,
};

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let started = Instant::now();
    let given: Vec<String> = std::env::args().skip(1).collect();
    let has_violations = match Order::parse(&given)? {
        Order::Scenarios(arguments) => simulate(arguments)?,
        Order::AdaptivePace { seed, folder } => simulate_adaptive_pace(seed, &folder)?,
    };
    println!("wall_s={:.1}", started.elapsed().as_secs_f64());
    Ok(ExitCode::from(u8::from(has_violations)))
}

/// Returns whether the run violated a promise.
fn simulate_adaptive_pace(seed: u64, folder: &Path) -> Result<bool, Box<dyn Error>> {
    fs::create_dir_all(folder)?;
    let figures = AdaptiveFigures::run(seed);
    picture::write_files(&figures.seconds, folder)?;
    print!(
        "{}{}",
        figures.format(seed),
        picture::format_rows(&figures.seconds)
    );
    Ok(!figures.holds_promises())
}

/// Returns whether a run violated a promise.
fn simulate(arguments: Arguments) -> Result<bool, Box<dyn Error>> {
    if arguments.has_ceilings {
        Ok(simulate_crowds(arguments))
    } else {
        simulate_scenarios(arguments)
    }
}

/// Returns whether a run violated a promise.
fn simulate_crowds(arguments: Arguments) -> bool {
    let mut has_violations = false;
    for runs in run_crowds(arguments.scenarios, arguments.seeds) {
        println!("{}", runs.format_figures());
        has_violations |= runs.has_violations();
    }
    has_violations
}

/// Returns whether a run violated a promise.
fn simulate_scenarios(arguments: Arguments) -> Result<bool, Box<dyn Error>> {
    let folder = arguments.folder;
    fs::create_dir_all(&folder)?;
    let all = run_all(arguments.scenarios, arguments.seeds);
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
    Ok(has_violations)
}
