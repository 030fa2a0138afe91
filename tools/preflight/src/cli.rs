//! The options of the command line.

use clap::Parser;
use vestibule_sizing::crowd_sizing::{Cache, CrowdDemand};

/// Asks the account and a deployed stack whether they are ready for a sale, and changes nothing.
///
/// Each line is one check: ok, FAULT with a remedy, or ? with the way to find out. It exits with 0 if there is no fault,
/// with 1 if there is one, and with 2 if it could not run. It uses your own AWS credentials: those of the environment, of
/// a profile (`AWS_PROFILE`), or of a login by SSO (`aws sso login`).
#[derive(Debug, Parser)]
#[command(name = "vestibule-preflight", version)]
pub(crate) struct Cli {
    /// The name of the stack, for example shop
    #[arg(env = "STACK", value_parser = parse_stack)]
    pub stack: String,

    /// How many visitors come: compares the plan for this crowd with the limits of the account and the stack
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    pub visitors: Option<u32>,

    /// The time in which they come, in seconds
    #[arg(long, default_value_t = 1_800, value_parser = clap::value_parser!(u32).range(1..=86_400))]
    pub arrival_seconds: u32,

    /// How long they are to wait on average, in minutes
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(0..=1_440))]
    pub wait_minutes: u32,

    /// The length of a session, in seconds
    #[arg(long, default_value_t = 300, value_parser = clap::value_parser!(u32).range(1..=86_400))]
    pub session_seconds: u32,

    /// How often the protected service validates each visitor
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=10_000))]
    pub checks: u32,

    /// A visitor's token for the authorizer, without "Bearer". API Gateway tests it
    #[arg(long, env = "VISITOR_TOKEN", hide_env_values = true)]
    pub visitor_token: Option<String>,

    /// Prints the findings as JSON
    #[arg(long)]
    pub json: bool,
}

impl Cli {
    /// The crowd that is expected, if there is one.
    pub(crate) fn crowd(&self, cache: Cache, has_cdn: bool) -> Option<CrowdDemand> {
        Some(CrowdDemand {
            visitors: self.visitors?,
            arrival_seconds: self.arrival_seconds,
            wait_seconds: 60 * self.wait_minutes,
            session_seconds: self.session_seconds,
            checks: self.checks,
            cache,
            has_cdn,
        })
    }
}

/// Refuses what `make preflight` passes on if no stack is given.
fn parse_stack(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("name the stack, for example with make preflight STACK=shop".to_owned()),
        name => Ok(name.to_owned()),
    }
}
