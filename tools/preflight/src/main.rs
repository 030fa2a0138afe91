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

use std::process::ExitCode;

use clap::Parser;

use crate::cli::Cli;

/// The preflight could not run.
const COULD_NOT_RUN: u8 = 2;

#[tokio::main]
async fn main() -> ExitCode {
    let cli = Cli::parse();
    vestibule_telemetry::init_terminal_logging("warn");
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
