//! The options of the command line.

use clap::Parser;

const DEFAULT_PORT: u16 = 8090;

/// The console of operators for a deployed stack, on this machine only.
///
/// It sends each command to the stack's admin function with your own AWS credentials: those of the environment, of a
/// profile (`AWS_PROFILE`), or of a login by SSO (`aws sso login`). Its samples start when it starts.
#[derive(Debug, Parser)]
#[command(name = "vestibule-stack-console", version)]
pub(crate) struct Cli {
    /// The name of the stack, for example shop
    #[arg(env = "STACK", value_parser = parse_stack)]
    pub stack: String,

    /// The port to listen on; 0 selects a free port and prints it
    #[arg(long, env = "PORT", default_value_t = DEFAULT_PORT, value_parser = parse_port)]
    pub port: u16,
}

/// Refuses what `make operate` passes on if no stack is given.
fn parse_stack(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("name the stack, for example with make operate STACK=shop".to_owned()),
        name => Ok(name.to_owned()),
    }
}

fn parse_port(text: &str) -> Result<u16, String> {
    vestibule_console::parse_port(text, DEFAULT_PORT)
}
