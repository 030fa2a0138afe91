//! Runs the simulation: tables over all seeds, a CSV and a picture for each scenario, and the figures as `name=value` lines.
//!
//! Run it with `make simulate`.

use std::{error::Error, fs, path::PathBuf, process::ExitCode, time::Instant};

use vestibule_simulate::{
    plot,
    scenario::{NAMES, Scenario},
    series::run_all,
    table,
};

/// Below so many a crowd is no crowd.
const VISITORS_MIN: u32 = 100;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let begun = Instant::now();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, visitors, seed, seeds, folder] = &arguments[..] else {
        return Err("usage: vestibule-simulate SCENARIO|all VISITORS SEED SEEDS FOLDER".into());
    };
    let (visitors, seed, seeds): (u32, u64, u64) = (visitors.parse()?, seed.parse()?, seeds.parse()?);
    if visitors < VISITORS_MIN {
        return Err(format!("at least {VISITORS_MIN} visitors").into());
    }
    if seeds == 0 {
        return Err("at least one seed".into());
    }
    let folder = PathBuf::from(folder);
    fs::create_dir_all(&folder)?;
    let names = if name == "all" {
        NAMES.to_vec()
    } else {
        vec![&**name]
    };
    let named = |name: &str| {
        let unknown = || format!("no scenario {name}; there are {}", NAMES.join(", "));
        Scenario::named(name, visitors, seed).ok_or_else(unknown)
    };
    let scenarios = names.into_iter().map(named).collect::<Result<_, _>>()?;

    let all = run_all(scenarios, seeds);
    let mut is_broken = false;
    for series in &all {
        series.course().write_csv(&folder)?;
        plot::draw(&series.course(), &folder)?;
        for (seed, times) in series.broken() {
            eprintln!(
                "{} with seed {seed}: {times} promises broken",
                series.scenario.name
            );
            is_broken = true;
        }
    }
    print!("{}", table::print(&all));
    println!("wall_s={:.1}", begun.elapsed().as_secs_f64());
    Ok(ExitCode::from(u8::from(is_broken)))
}
