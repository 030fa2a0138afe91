//! Asks the account and a deployed stack whether they are ready for a sale. See `--help`.
//!
//! - `gather` asks AWS and the stack, and changes nothing.
//! - `decide` says what the answers mean. Its rules are pure.
//! - `print` shows the findings.

mod account_answers;
mod cli;
mod decide;
mod gather;
mod print;
mod run;
mod start_error;

use std::process::ExitCode;

use clap::Parser;
use tracing_subscriber::EnvFilter;

use crate::cli::Cli;

/// The preflight could not run.
const COULD_NOT_RUN: u8 = 2;

#[tokio::main]
async fn main() -> ExitCode {
    let cli = Cli::parse();
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn"));
    tracing_subscriber::fmt()
        .compact()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .init();
    // The future of so many calls is large.
    match Box::pin(run::run(&cli)).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("vestibule-preflight: {error}");
            ExitCode::from(COULD_NOT_RUN)
        }
    }
}
