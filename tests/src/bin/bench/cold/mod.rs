//! Measures how the functions start: ten cold starts of each under AWS's own runtime emulator, with a real
//! Redis and with an emulated `DynamoDB` and Secrets Manager.
//!
//! - init: the time from the start of the process to its first request for an invocation, as the emulator
//!   reports it. It includes fetching the keys and connecting the line.
//! - first call: the time of the first invocation. Only the connections of init exist by then. The answers of
//!   the emulated tables are part of it.
//! - peak memory: the resident memory after that call, as the kernel counts it (`VmHWM`).
//!
//! It prints a row for each function and then the figures: the greatest of all functions, also relative to a function that does
//! nothing. The functions are in `VESTIBULE_FUNCTIONS_DIR`, and `VESTIBULE_LAMBDA_EMULATOR` is the emulator.

mod calls;
mod emulator;

use std::{
    env, fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use self::{
    calls::Calls,
    emulator::{Emulator, Start},
};
use crate::{
    BenchResult, Context,
    figures::{as_f64, median, print_figure},
    size::Size,
};

/// The number of starts of each function. The median counts.
const STARTS: u32 = 10;
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
const EMPTY_FUNCTION: &str = "empty_function";
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

/// What starts the functions.
struct Bench {
    emulator: PathBuf,
    calls: Calls,
    size: Size,
}

pub(crate) async fn measure(context: &Context) -> BenchResult {
    let functions = PathBuf::from(read_variable("VESTIBULE_FUNCTIONS_DIR")?);
    let folder = tempfile::tempdir()?;
    // The package that has the emulator does not make it executable.
    let emulator = folder.path().join("emulator");
    fs::copy(read_variable("VESTIBULE_LAMBDA_EMULATOR")?, &emulator)?;
    fs::set_permissions(&emulator, fs::Permissions::from_mode(0o755))?;
    let bench = Bench {
        emulator,
        calls: Calls::prepare().await?,
        size: context.size,
    };
    println!("function         init_ms  first_call_ms  peak_rss_mb  zip_mb");
    let empty = env::current_exe()?.with_file_name(EMPTY_FUNCTION);
    let empty = bench.measure(EMPTY_FUNCTION, empty).await?;
    let mut rows = Vec::new();
    for function in FUNCTIONS {
        // `cargo lambda` puts each program into a folder of its own.
        let (program, bootstrap) = (
            functions.join(function),
            functions.join(function).join("bootstrap"),
        );
        let program = if bootstrap.exists() { bootstrap } else { program };
        rows.push(bench.measure(function, program).await?);
    }
    let max = |of: fn(&Row) -> f64| rows.iter().map(of).fold(0.0, f64::max);
    let (init_ms, peak_rss_mb) = (max(|row| row.init_ms), max(|row| row.peak_rss_mb));
    let first_call_ms = max(|row| row.first_call_ms.unwrap_or_default());
    print_figure("init_ms", init_ms, 1);
    print_figure("init_vs_empty", init_ms / empty.init_ms, 2);
    print_figure("first_call_ms", first_call_ms, 1);
    print_figure("peak_rss_mb", peak_rss_mb, 1);
    print_figure("peak_rss_vs_empty", peak_rss_mb / empty.peak_rss_mb, 2);
    print_figure("zip_mb", max(|row| row.zip_mb), 2);
    Ok(())
}

fn read_variable(name: &str) -> BenchResult<String> {
    env::var(name).map_err(|_| format!("{name} is not set: run `make bench NAME=cold`").into())
}

impl Bench {
    /// Starts a function again and again, and prints its row.
    async fn measure(&self, function: &'static str, program: PathBuf) -> BenchResult<Row> {
        let zip_mb = as_f64(find_zipped_bytes(&program, self.size)?) / MEGABYTE;
        let emulator = Emulator {
            program: self.emulator.clone(),
            bootstrap: program,
            variables: self.calls.variables(),
        };
        let mut starts = Vec::new();
        for _ in 0..self.size.count(STARTS) {
            let event = self.calls.request_for(function);
            starts.push(emulator.start_and_call(&event).await?);
        }
        let of = |number: fn(&Start) -> f64| starts.iter().map(number);
        let row = Row {
            function,
            init_ms: median(of(|start| start.init_ms)),
            first_call_ms: (function != "promoter").then(|| median(of(|start| start.call_ms))),
            peak_rss_mb: of(|start| as_f64(start.peak_rss_bytes)).fold(0.0, f64::max) / MEGABYTE,
            zip_mb,
        };
        println!("{row}");
        Ok(row)
    }
}

/// The size of a program in a package: SAM compresses it by the same method, and at the same level.
fn find_zipped_bytes(program: &Path, size: Size) -> BenchResult<u64> {
    let level = if size.is_small { "-1" } else { "-6" };
    let zipped = Command::new("gzip")
        .args(["--stdout", level])
        .arg(program)
        .output()?;
    if !zipped.status.success() {
        return Err(format!("gzip {} ended with {}", program.display(), zipped.status).into());
    }
    Ok(u64::try_from(zipped.stdout.len())?)
}

impl std::fmt::Display for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let first_call = self.first_call_ms.map_or("-".to_owned(), |ms| format!("{ms:.1}"));
        write!(
            f,
            "{:<14} {:>9.1} {:>14} {:>12.1} {:>7.2}",
            self.function, self.init_ms, first_call, self.peak_rss_mb, self.zip_mb
        )
    }
}
