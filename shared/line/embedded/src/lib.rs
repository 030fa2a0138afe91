//! A server for the scripts of the line inside a process. It runs the same scripts as Redis, in the same Lua, over a store
//! of the commands that the scripts and the line's Rust code send.
//!
//! It does what the documentation of Redis says of these commands, and refuses any other by its name. It has no network, no
//! replication, and no memory limit of its own.

mod commands;
mod interpreter;
mod json;
mod reply;
mod saved;
mod script_values;
mod server;
mod sorted_set;
mod store;
mod stream;
mod struct_format;

pub use self::{saved::LoadError, server::EmbeddedServer};
