//! All of Vestibule in one process. See `--help`.

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
mod saved_line;
mod serve;
mod stop;
mod store;
mod tickets;
mod verify_draw;

use std::process::ExitCode;

use clap::Parser;

use crate::cli::{Cli, Command};

#[tokio::main]
async fn main() -> ExitCode {
    vestibule_telemetry::clock::keep_steady();
    let cli = Cli::parse();
    vestibule_telemetry::init_terminal_logging(if cli.quiet { "error" } else { "warn" });
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
