//! The options of the command line.

use std::{
    net::{IpAddr, Ipv4Addr},
    path::PathBuf,
};

use axum::http::Uri;
use clap::{Args, Parser, Subcommand};
use vestibule_api::config::Origins;
use vestibule_domain::id::{EntryId, QueueId, Visitor};

use crate::error::StartError;

const DEFAULT_PORT: u16 = 8080;

/// All of Vestibule in one process: the API, the promoter and the waiting page on localhost.
///
/// By default the line is inside the process and each change is stored in a file, so every visitor keeps their place across a
/// restart.
#[derive(Debug, Parser)]
#[command(name = "vestibule-local", version)]
pub(crate) struct Cli {
    /// Keep the line in this Redis or Valkey, for example `redis://127.0.0.1:6379`
    #[arg(long, value_name = "URL")]
    pub redis: Option<String>,

    /// Keep the backup in the DynamoDB at this endpoint, for example `http://127.0.0.1:8000`
    #[arg(long, value_name = "URL")]
    pub dynamodb: Option<String>,

    /// The table of the queues, if the backup is in DynamoDB
    #[arg(long, value_name = "TABLE", env = "VESTIBULE_QUEUES_TABLE")]
    pub queues_table: Option<String>,

    /// The table of the entries, if the backup is in DynamoDB
    #[arg(long, value_name = "TABLE", env = "VESTIBULE_ENTRIES_TABLE")]
    pub entries_table: Option<String>,

    /// The folder of the keys and of the file backup
    #[arg(long, value_name = "FOLDER", default_value = ".vestibule", global = true)]
    pub dir: PathBuf,

    /// The port to listen on; 0 selects a free port and prints it
    #[arg(long, env = "PORT", default_value_t = DEFAULT_PORT, value_parser = parse_port, global = true)]
    pub port: u16,

    /// The address to listen on. A caller who reaches another one than loopback may call the routes of the protected service and of
    /// operators. In a container it is `0.0.0.0`, and the port is published on loopback
    #[arg(long, value_name = "ADDRESS", env = "VESTIBULE_LISTEN", default_value_t = Ipv4Addr::LOCALHOST.into())]
    pub listen: IpAddr,

    /// The origins whose pages may call the API, separated by commas, for example the server of your front end,
    /// `http://localhost:5173`; `*` for every origin, without cookies
    #[arg(long, value_name = "ORIGIN", default_value = "")]
    pub cors: Origins,

    /// Further host names that requests may use, separated by commas, besides those of this machine itself: for example
    /// `host.docker.internal`, by which a shop in a container reaches this process
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub hosts: Vec<String>,

    /// A folder whose files come before the page's own: `theme.css`, `theme.json` and what they name. A folder in it, such as
    /// `shop`, has the theme of the page at `/shop/`
    #[arg(long, value_name = "FOLDER")]
    pub web: Option<PathBuf>,

    /// The number of simulated visitors in the queue demo:1; 0 for none
    #[arg(long, value_name = "N", default_value_t = 12)]
    pub demo_visitors: u16,

    /// How long a process and the readers of the public keys may keep the keys that verify passes; a rotation waits for it
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=86_400))]
    pub key_cache_seconds: u32,

    /// Print only the addresses and errors
    #[arg(long)]
    pub quiet: bool,

    #[command(subcommand)]
    pub command: Option<Command>,
}

/// What to do instead of serving.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Print a ticket by which a test visitor enters a queue, signed with a key of the folder. The queue needs the public
    /// key in its setting `ticket_keys`: see `--keys`. The queue demo:1 has it
    Ticket(TicketRequest),
    /// Verify the place that a draw gave to an entry. Prints yes or no with the reason; exits with 0 for yes, and 1 for no
    VerifyDraw(DrawClaim),
    /// Print what a crowd asks of each part of a deployment, which part is full first, and what it costs
    Plan(PlanRequest),
    /// Ask the process at `--port` of this machine whether its line and its backup answer; exits with 0 for yes, and 1 for no
    Health,
}

/// What a queue published about a draw, and what it told the visitor.
#[derive(Debug, Args)]
pub(crate) struct DrawClaim {
    /// The token of the entry
    #[arg(long, value_name = "TOKEN")]
    pub token: EntryId,

    /// The place that the entry got (`place` in its answers)
    #[arg(long, value_name = "PLACE")]
    pub place: u64,

    /// The seed that the public document shows after the opening (`draw_seed`)
    #[arg(long, value_name = "HEX")]
    pub seed: String,

    /// The commitment that the public document showed before the opening (`draw_commitment`)
    #[arg(long, value_name = "HEX")]
    pub commitment: String,
}

/// The crowd that is expected.
// Each flag is an option of the command line.
#[allow(clippy::struct_excessive_bools)]
#[derive(Debug, Args)]
pub(crate) struct PlanRequest {
    /// How many visitors come
    #[arg(long, value_name = "N", required_unless_present_any = ["facts", "cost_table"])]
    pub visitors: Option<u64>,

    /// The time in which they come; 1800 by default, or longer if the line cannot take them in as fast
    #[arg(long, value_name = "SECONDS")]
    pub arrival_seconds: Option<u64>,

    /// How long they are to wait on average; 0 is as short as possible; 30 by default
    #[arg(long, value_name = "MINUTES")]
    pub wait_minutes: Option<u64>,

    /// The length of a session
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    pub session_seconds: u64,

    /// How often the protected service validates each visitor
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub checks: u64,

    /// The cache of the deployment: serverless, or node
    #[arg(long, value_name = "CACHE", default_value = "serverless")]
    pub cache: String,

    /// No CDN answers the reads of the public document
    #[arg(long)]
    pub without_cdn: bool,

    /// Print the answer of the command as JSON
    #[arg(long)]
    pub json: bool,

    /// Print the limits, measurements and prices that plans go by, with their sources, and no plan
    #[arg(long)]
    pub facts: bool,

    /// Print what a million visitors cost in several deployments, as the tables of `docs/cost.md`, and no plan
    #[arg(long)]
    pub cost_table: bool,
}

/// The claims of a test ticket.
#[derive(Debug, Args)]
pub(crate) struct TicketRequest {
    /// The queue (claim aud)
    #[arg(long, value_name = "QUEUE", default_value = "demo:1")]
    pub queue: QueueId,

    /// The visitor (claim sub). The same visitor has the same place
    #[arg(long, value_name = "VISITOR", required_unless_present = "keys", value_parser = parse_visitor)]
    pub sub: Option<String>,

    /// For how many seconds the visitor may enter with the ticket (claim exp)
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    pub expires_in: u32,

    /// The lane of a new place, 0 (served first) to 7
    #[arg(long, value_name = "LANE", value_parser = clap::value_parser!(u8).range(0..=7))]
    pub lane: Option<u8>,

    /// Let the visitor in past the line
    #[arg(long)]
    pub bypass: bool,

    /// Print the public key as a JWK set, for the setting `ticket_keys`, and no ticket
    #[arg(long)]
    pub keys: bool,
}

impl Cli {
    /// Refuses invalid values before the process does anything with them.
    pub(crate) fn validate(&self) -> Result<(), StartError> {
        match &self.dynamodb {
            Some(url) if !is_http_url(url) => Err(StartError::InvalidDynamoDbAddress(url.clone())),
            _ => Ok(()),
        }
    }
}

fn parse_port(text: &str) -> Result<u16, String> {
    vestibule_console::parse_port(text, DEFAULT_PORT)
}

/// Refuses a name that no queue would accept.
fn parse_visitor(text: &str) -> Result<String, String> {
    let visitor = Visitor::known(text).map_err(|error| error.to_string())?;
    Ok(visitor.reveal().to_owned())
}

fn is_http_url(url: &str) -> bool {
    let host = |uri: &Uri| uri.host().is_some_and(|host| !host.is_empty());
    (url.starts_with("http://") || url.starts_with("https://")) && url.parse().is_ok_and(|uri| host(&uri))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_port_selects_the_default() {
        let parsed = |port: &str| Cli::try_parse_from(["vestibule-local", "--port", port]);
        assert_eq!(parsed("").expect("the port is valid").port, DEFAULT_PORT);
        assert_eq!(parsed("1234").expect("the port is valid").port, 1234);
        for invalid in ["x", "65536", "99999"] {
            let error = parsed(invalid).expect_err("no port").to_string();
            assert!(error.contains("from 0 to 65535"), "{error}");
        }
    }

    #[test]
    fn the_dynamodb_address_must_be_an_http_url() {
        for valid in ["http://127.0.0.1:8000", "https://dynamodb.example/"] {
            assert!(is_http_url(valid), "{valid}");
        }
        for invalid in [
            "",
            "nonsense",
            "127.0.0.1:8000",
            "ftp://x",
            "http://",
            "http:// x",
        ] {
            assert!(!is_http_url(invalid), "{invalid}");
        }
    }
}
