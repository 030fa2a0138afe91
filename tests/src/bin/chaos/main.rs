//! Runs the chaos suite. It prints a line for each seed and writes the evidence of each failed one to a file.
//!
//! Run it with `make chaos`, which builds the functions and starts the emulator of the table.

use std::{error::Error, path::PathBuf, process::ExitCode};

use futures_util::{StreamExt, stream};
use vestibule_tests::chaos::{self, plan::Plan};

/// The number of seeds that run at the same time.
const AT_ONCE: usize = 2;

/// The arguments of the program.
struct Arguments {
    seeds: std::ops::RangeInclusive<u64>,
    /// The folder for the evidence. Without one, the plans are printed and no seed is run.
    folder: Option<PathBuf>,
}

fn arguments() -> Option<Arguments> {
    let mut given = std::env::args().skip(1);
    let (first, last) = (given.next()?, given.next()?);
    Some(Arguments {
        seeds: first.parse().ok()?..=last.parse().ok()?,
        folder: given.next().map(PathBuf::from),
    })
}

#[tokio::main]
async fn main() -> Result<ExitCode, Box<dyn Error>> {
    let Some(Arguments { seeds, folder }) = arguments() else {
        return Err("usage: chaos FIRST-SEED LAST-SEED [FOLDER]".into());
    };
    let Some(folder) = folder else {
        seeds.for_each(|seed| println!("{}", Plan::draw(seed)));
        return Ok(ExitCode::SUCCESS);
    };
    let all = async {
        let (mut ok, mut failed) = (0, Vec::new());
        let mut outcomes = stream::iter(seeds)
            // Each run is a task of its own, so that a panic ends only that run.
            .map(|seed| async move { (seed, tokio::spawn(chaos::run_seed(seed)).await) })
            .buffer_unordered(AT_ONCE);
        while let Some((seed, outcome)) = outcomes.next().await {
            let Ok(outcome) = outcome else {
                println!("seed {seed:>4}: the run panicked; its log says why");
                failed.push(seed);
                continue;
            };
            println!("{outcome}");
            if outcome.is_ok() {
                ok += 1;
                continue;
            }
            for violation in outcome.violations.iter().take(3) {
                println!("  {}: {}", violation.guarantee, violation.what);
            }
            println!("  evidence: {}", outcome.write_evidence(&folder)?.display());
            failed.push(seed);
        }
        println!("passed={ok} failed={}", failed.len());
        for seed in &failed {
            println!("replay: make chaos SEED={seed}");
        }
        Ok(ExitCode::from(u8::from(!failed.is_empty())))
    };
    tokio::select! {
        ended = all => ended,
        // The runs are dropped, which stops their servers.
        _ = tokio::signal::ctrl_c() => Ok(ExitCode::from(130)),
    }
}
