//! Measures how the functions start: ten cold starts of each under AWS's own runtime emulator, with a real
//! Redis and with an emulated `DynamoDB` and Secrets Manager.
//!
//! - init: the time from the start of the process to its first request for an invocation, as the emulator
//!   reports it. It includes fetching the keys and connecting the line.
//! - first call: the time of the first invocation. Only the connections of init exist by then. The answers of
//!   the emulated tables are part of it.
//! - peak memory: the resident memory after that call, as the kernel counts it (`VmHWM`).
//!
//! It prints a row for each function and then one `name=value` a line. Run it with `make bench-cold`, which
//! builds the functions and starts the servers.

mod calls;
mod emulator;

use std::{error::Error, path::PathBuf};

use self::{
    calls::Calls,
    emulator::{Emulator, Start},
};

/// The number of starts of each function. The median counts.
const STARTS: usize = 10;
const FUNCTIONS: [&str; 8] = [
    "document",
    "enter",
    "claim",
    "status",
    "validate",
    "authorizer",
    "promoter",
    "admin",
];
const MEGABYTE: f64 = 1_000_000.0;

/// The figures of one function.
struct Row {
    function: &'static str,
    init_ms: f64,
    /// `None` for the promoter: its first call lasts a whole minute.
    first_call_ms: Option<f64>,
    peak_rss_mb: f64,
    zip_mb: f64,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(packages), Some(program), None) = (arguments.next(), arguments.next(), arguments.next()) else {
        return Err(
            "usage: bench-cold PACKAGES EMULATOR, with PACKAGES/FUNCTION/{bootstrap,bootstrap.zip}".into(),
        );
    };
    let calls = Calls::prepare().await?;
    println!("function      init_ms  first_call_ms  peak_rss_mb  zip_mb");
    let mut rows = Vec::new();
    for function in FUNCTIONS {
        let package = packages.join(function);
        let emulator = Emulator {
            program: program.clone(),
            bootstrap: package.join("bootstrap"),
            variables: calls.variables(),
        };
        let mut starts = Vec::new();
        for _ in 0..STARTS {
            starts.push(emulator.start_and_call(&calls.request_for(function)).await?);
        }
        let zip = std::fs::metadata(package.join("bootstrap.zip"))?.len();
        let row = build_row(function, &starts, zip);
        println!("{row}");
        rows.push(row);
    }
    let max = |of: fn(&Row) -> f64| rows.iter().map(of).fold(0.0, f64::max);
    println!("init_ms={:.1}", max(|row| row.init_ms));
    println!(
        "first_call_ms={:.1}",
        max(|row| row.first_call_ms.unwrap_or_default())
    );
    println!("peak_rss_mb={:.1}", max(|row| row.peak_rss_mb));
    println!("zip_mb={:.2}", max(|row| row.zip_mb));
    Ok(())
}

#[allow(clippy::cast_precision_loss)]
fn build_row(function: &'static str, starts: &[Start], zip_bytes: u64) -> Row {
    let peak = starts
        .iter()
        .map(|start| start.peak_rss_bytes)
        .max()
        .unwrap_or_default();
    let ends_after_call = function != "promoter";
    Row {
        function,
        init_ms: median(starts.iter().map(|start| start.init_ms)),
        first_call_ms: ends_after_call.then(|| median(starts.iter().map(|start| start.call_ms))),
        peak_rss_mb: peak as f64 / MEGABYTE,
        zip_mb: zip_bytes as f64 / MEGABYTE,
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<_> = values.collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len().is_multiple_of(2) {
        f64::midpoint(values[middle - 1], values[middle])
    } else {
        values[middle]
    }
}

impl std::fmt::Display for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let first_call = self.first_call_ms.map_or("-".to_owned(), |ms| format!("{ms:.1}"));
        write!(
            f,
            "{:<10} {:>10.1} {:>14} {:>12.1} {:>7.2}",
            self.function, self.init_ms, first_call, self.peak_rss_mb, self.zip_mb
        )
    }
}
