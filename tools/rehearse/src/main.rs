//! A rehearsal of a sale: a bounded crowd of visitors against a deployment, and a report of what they met. See `--help`.
//!
//! The visitors and what they write down are of the crate `vestibule-crowd`. [`target`] says where they may go, [`service_access`]
//! proves the protected service, [`queue`] gives the commands of operators. [`report`] and [`comparison`] judge what the visitors
//! met.

mod admin;
mod cli;
mod comparison;
mod cost;
mod crowd_totals;
mod progress;
mod queue;
mod report;
mod report_text;
mod run;
mod server_report;
mod service_access;
mod target;

use std::process::ExitCode;

use clap::Parser;

#[tokio::main]
async fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    match run::run(&cli).await {
        Ok(report) => report_text::print(&report, cli.json),
        Err(error) => {
            eprintln!("vestibule-rehearse: {error}");
            ExitCode::FAILURE
        }
    }
}
