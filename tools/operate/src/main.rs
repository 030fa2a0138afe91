//! The console of operators for a deployed stack. See `--help`.

mod cli;
mod serve;
mod stack_admin;
mod start_error;

use std::process::ExitCode;

use clap::Parser;

use crate::cli::Cli;

#[tokio::main]
async fn main() -> ExitCode {
    let cli = Cli::parse();
    vestibule_telemetry::init_terminal_logging("warn");
    match serve::run(&cli).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("vestibule-stack-console: {error}");
            ExitCode::FAILURE
        }
    }
}
