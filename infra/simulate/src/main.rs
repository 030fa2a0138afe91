//! Runs the simulation: a table, a CSV and a picture for each scenario, and the figures as `name=value` lines.
//!
//! Run it with `make simulate`.

use std::{error::Error, fs, path::PathBuf, process::ExitCode, thread, time::Instant};

use vestibule_simulate::{
    figures::{Both, Figures, head_of_course, head_of_estimates, head_of_rows},
    plot,
    scenario::{NAMES, Scenario},
    told::Held,
    world::{Clients, run},
};

/// Below so many a crowd is no crowd.
const VISITORS_MIN: u32 = 100;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let begun = Instant::now();
    let mut arguments = std::env::args().skip(1);
    let (Some(name), Some(visitors), Some(seed), Some(folder)) = (
        arguments.next(),
        arguments.next(),
        arguments.next(),
        arguments.next(),
    ) else {
        return Err("usage: vestibule-simulate SCENARIO|all VISITORS SEED FOLDER".into());
    };
    let (visitors, seed): (u32, u64) = (visitors.parse()?, seed.parse()?);
    if visitors < VISITORS_MIN {
        return Err(format!("at least {VISITORS_MIN} visitors").into());
    }
    let folder = PathBuf::from(folder);
    fs::create_dir_all(&folder)?;
    let names: Vec<&str> = if name == "all" {
        NAMES.to_vec()
    } else {
        vec![&name]
    };
    let mut all = Vec::new();
    for name in names {
        let scenario = Scenario::named(name, visitors, seed)
            .ok_or_else(|| format!("no scenario {name}; there are {}", NAMES.join(", ")))?;
        let both = both(scenario);
        both.write_csv(&folder)?;
        plot::draw(&both, &folder)?;
        all.push(both);
    }
    print(&all);
    println!("wall_s={:.1}", begun.elapsed().as_secs_f64());
    let broken = |both: &Both| both.paced.lost_turns + both.paced.overshoot + both.fixed.overshoot > 0;
    Ok(ExitCode::from(u8::from(all.iter().any(broken))))
}

/// Both crowds side by side.
fn both(scenario: Scenario) -> Both {
    let (paced, fixed) = thread::scope(|scope| {
        let fixed = scope.spawn(|| run(&scenario, Clients::Fixed));
        (run(&scenario, Clients::Paced), fixed.join())
    });
    Both {
        paced,
        fixed: fixed.unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
        scenario,
    }
}

fn print(all: &[Both]) {
    println!("{}", head_of_rows());
    for both in all {
        print!("{}", both.rows());
    }
    println!("\n{}", head_of_estimates());
    for both in all {
        print!("{}", both.estimates());
    }
    if let [one] = all {
        println!("\n{}\n{}", head_of_course(), one.course());
    }
    let half_hour = |of: &dyn Fn(&Both) -> Figures| {
        let polls: Vec<f64> = all.iter().filter_map(|both| of(both).polls_half_hour).collect();
        polls.iter().copied().fold(f64::NAN, f64::max)
    };
    let told = all
        .iter()
        .fold(Held::default(), |told, both| told.and(&both.paced.told.all()));
    println!(
        "polls_per_visitor_30min={:.1}",
        half_hour(&|both| Figures::of(&both.paced))
    );
    println!(
        "polls_per_visitor_30min_max={}",
        all.iter()
            .map(|both| Figures::of(&both.paced).polls_half_hour_max)
            .max()
            .unwrap_or(0)
    );
    println!(
        "polls_per_visitor_30min_fixed_3s={:.1}",
        half_hour(&|both| Figures::of(&both.fixed))
    );
    println!(
        "lost_turns={}",
        all.iter().map(|both| both.paced.lost_turns).sum::<u64>()
    );
    println!(
        "overshoot={}",
        all.iter()
            .map(|both| both.paced.overshoot + both.fixed.overshoot)
            .sum::<u64>()
    );
    println!("estimate_coverage_80={:.3}", told.coverage());
    println!("estimate_mean_relative_error={:.3}", told.mean_error());
    println!(
        "held_max={}",
        all.iter().map(|both| both.paced.held_max).max().unwrap_or(0)
    );
}
