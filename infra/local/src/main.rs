//! All of Vestibule in one process. See `--help`.

mod checkpoints;
mod cli;
mod console;
mod cost_table;
mod demo_visitors;
mod error;
mod health;
mod host;
mod keys;
mod operations;
mod pages;
mod ping;
mod plan;
mod run;
mod serve;
mod stop;
mod store;
mod tickets;
mod verify_draw;

use std::process::ExitCode;

use clap::Parser;
use tracing_subscriber::EnvFilter;

use crate::cli::{Cli, Command};

#[tokio::main]
async fn main() -> ExitCode {
    let cli = Cli::parse();
    start_logging(cli.quiet);
    let result = match cli.validate() {
        Ok(()) => match &cli.command {
            None => run::run(&cli).await,
            Some(Command::Ticket(request)) => tickets::print_ticket(&cli.dir, request),
            Some(Command::VerifyDraw(claim)) => return verify_draw::print_verdict(claim),
            Some(Command::Plan(request)) => return plan::print_plan(request),
            Some(Command::Health) => return health::print_health(cli.port).await,
        },
        refused => refused,
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("vestibule-local: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Logs go to standard error as readable text, because standard output prints the address.
fn start_logging(quiet: bool) {
    let default_level = if quiet { "error" } else { "warn" };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(default_level));
    tracing_subscriber::fmt()
        .compact()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .init();
}
