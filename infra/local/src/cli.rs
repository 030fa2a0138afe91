//! What can be said on the command line.

use std::{num::ParseIntError, path::PathBuf};

use axum::http::Uri;
use clap::Parser;

use crate::error::StartError;

const DEFAULT_PORT: u16 = 8080;

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

    /// The table that holds the queues, where the backup is in DynamoDB
    #[arg(long, value_name = "TABLE", env = "VESTIBULE_QUEUES_TABLE")]
    pub queues_table: Option<String>,

    /// The table that holds the entries, where the backup is in DynamoDB
    #[arg(long, value_name = "TABLE", env = "VESTIBULE_ENTRIES_TABLE")]
    pub entries_table: Option<String>,

    /// Where the keys and the file backup are kept
    #[arg(long, value_name = "FOLDER", default_value = ".vestibule")]
    pub dir: PathBuf,

    /// The port to listen on; 0 takes a free one and prints it
    #[arg(long, env = "PORT", default_value_t = DEFAULT_PORT, value_parser = port)]
    pub port: u16,

    /// How many simulated visitors go through the queue demo:1; 0 for none
    #[arg(long, value_name = "N", default_value_t = 12)]
    pub crowd: u16,

    /// Print the address and errors, nothing else
    #[arg(long)]
    pub quiet: bool,
}

impl Cli {
    /// Refuses what cannot be meant, before anything is tried with it.
    pub(crate) fn check(&self) -> Result<(), StartError> {
        match &self.dynamodb {
            Some(url) if !is_web_address(url) => Err(StartError::NoAddress(url.clone())),
            _ => Ok(()),
        }
    }
}

/// An empty variable is one that is not set.
fn port(text: &str) -> Result<u16, ParseIntError> {
    if text.is_empty() {
        Ok(DEFAULT_PORT)
    } else {
        text.parse()
    }
}

fn is_web_address(url: &str) -> bool {
    let host = |uri: &Uri| uri.host().is_some_and(|host| !host.is_empty());
    (url.starts_with("http://") || url.starts_with("https://")) && url.parse().is_ok_and(|uri| host(&uri))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_port_is_the_default() {
        let parsed = |port: &str| Cli::try_parse_from(["vestibule-local", "--port", port]);
        assert_eq!(parsed("").expect("parsed").port, DEFAULT_PORT);
        assert_eq!(parsed("1234").expect("parsed").port, 1234);
        assert!(parsed("x").is_err() && parsed("65536").is_err());
    }

    #[test]
    fn dynamodb_is_at_a_web_address() {
        for fine in ["http://127.0.0.1:8000", "https://dynamodb.example/"] {
            assert!(is_web_address(fine), "{fine}");
        }
        for wrong in [
            "",
            "nonsense",
            "127.0.0.1:8000",
            "ftp://x",
            "http://",
            "http:// x",
        ] {
            assert!(!is_web_address(wrong), "{wrong}");
        }
    }
}
