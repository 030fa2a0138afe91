//! A rehearsal of a sale: a bounded crowd of visitors against a deployment, and a report of what they met. See `--help`.
//!
//! [`conduct`] and [`arrivals`] plan the crowd, [`visit`] runs each visitor by the rules of the shipped client, [`ledger`]
//! and [`visit_record`] write down what happened. [`report`] and [`comparison`] judge it.

mod admin;
mod api;
mod arrivals;
mod arriving_visitors;
mod cli;
mod comparison;
mod conduct;
mod cost;
mod crowd_totals;
mod gauges;
mod ledger;
mod operation;
mod order;
mod pace;
mod percentile;
mod progress;
mod queue;
mod report;
mod report_text;
mod run;
mod scene;
mod server_report;
mod service_access;
mod stop;
mod target;
mod visit;
mod visit_record;
mod visitor;

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
