//! What can be said on the command line.

use std::path::PathBuf;

use clap::Parser;

/// The whole of Vestibule in one process: the API, the promoter and the waiting page on localhost.
///
/// Without further ado the line is kept in memory and every change in a file, so that stopping and starting keeps
/// everybody's place.
#[derive(Debug, Parser)]
#[command(name = "vestibule-local", version)]
pub(crate) struct Cli {
    /// Keep the line in this Redis or Valkey, for example `redis://127.0.0.1:6379`
    #[arg(long, value_name = "URL")]
    pub redis: Option<String>,

    /// Keep the backup in the DynamoDB at this endpoint, for example `http://127.0.0.1:8000`
    #[arg(long, value_name = "URL")]
    pub dynamodb: Option<String>,

    /// Where the keys and the file backup are kept
    #[arg(long, value_name = "FOLDER", default_value = ".vestibule")]
    pub dir: PathBuf,

    /// The port to listen on; 0 takes a free one and prints it
    #[arg(long, env = "PORT", default_value_t = 8080)]
    pub port: u16,

    /// How many simulated visitors go through the queue demo:1; 0 for none
    #[arg(long, value_name = "N", default_value_t = 12)]
    pub crowd: u16,

    /// Print the address and errors, nothing else
    #[arg(long)]
    pub quiet: bool,
}
