//! The whole of Vestibule in one process: see `--help`.

mod cli;
mod crowd;
mod error;
mod keys;
mod operations;
mod pages;
mod run;
mod serve;
mod stop;
mod store;

use std::process::ExitCode;

use clap::Parser;
use tracing_subscriber::EnvFilter;

use crate::cli::Cli;

#[tokio::main]
async fn main() -> ExitCode {
    let cli = Cli::parse();
    log(cli.quiet);
    let ran = match cli.check() {
        Ok(()) => run::run(&cli).await,
        refused => refused,
    };
    match ran {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("vestibule-local: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Logs go to standard error, for people: standard output says the address.
fn log(quiet: bool) {
    let unless_told = if quiet { "error" } else { "warn" };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(unless_told));
    tracing_subscriber::fmt()
        .compact()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .init();
}
