//! The console of operators: a page, the numbers that it shows, and its way to the admin function.
//!
//! # Layout
//!
//! - [`AdminCaller`] is the way to an admin function: the one of the process, or that of a deployed stack.
//! - [`Console`] asks it every five seconds (`sampler`) and keeps an hour of samples of each queue (`history`, `ring`).
//! - [`routes`] serves the page (`files`), the overview, one queue, and the commands of the operator.
//! - [`host`] refuses requests of other sites, and `key_guard` those of other users and processes of the machine.

mod admin_caller;
mod answers;
mod command;
mod console;
mod deployment;
mod files;
mod history;
pub mod host;
mod key;
mod key_guard;
mod overview;
mod port;
mod problem;
mod queue_detail;
mod ring;
mod routes;
mod sample;
mod sampler;

pub use self::{
    admin_caller::{AdminCaller, AdminUnreachable, RoundTrips},
    command::{COMMAND_BYTES_MAX, UnreadableCommand, read_command, to_response},
    console::Console,
    deployment::{Deployment, DeploymentKind, operator_name},
    port::parse_port,
    routes::{routes, routes_for_loopback},
};
