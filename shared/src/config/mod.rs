//! What the environment says: one struct a concern, each read by its own `from_env`, with errors that name the variable
//! and never show its value.

mod callers;
mod edge;
mod keys;

use std::fmt;

pub use self::{
    callers::ServiceCallers,
    edge::{EdgeConfig, HELD_BUDGET, Origins, ServiceRoutes, VisitorRoutes},
    keys::{Keys, issuer_from_env, root_key_from_env},
};
use crate::backup::dynamodb::{Connection, Tables};

/// A variable that is missing or wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name} {reason}")]
pub struct ConfigError {
    /// The name of the variable.
    pub name: &'static str,
    /// What is wrong with it.
    pub reason: String,
}

fn wrong(name: &'static str, reason: impl Into<String>) -> ConfigError {
    ConfigError {
        name,
        reason: reason.into(),
    }
}

/// Looks a variable up: the environment's own, or a test's.
type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The process's own environment; an empty variable counts as none.
fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn required(vars: Lookup<'_>, name: &'static str) -> Result<String, ConfigError> {
    vars(name).ok_or_else(|| wrong(name, "is not set"))
}

/// Whether this process runs as a Lambda function.
pub fn on_lambda() -> bool {
    environment("AWS_LAMBDA_RUNTIME_API").is_some()
}

/// Where the line is.
#[derive(Clone, PartialEq, Eq)]
pub struct RedisConfig {
    /// `redis://` or `rediss://`; may hold a password, so `Debug` prints `***`.
    pub url: String,
}

impl fmt::Debug for RedisConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RedisConfig(***)")
    }
}

impl RedisConfig {
    /// Reads `VESTIBULE_REDIS_URL`.
    ///
    /// # Errors
    /// Where it is missing.
    pub fn from_env() -> Result<Self, ConfigError> {
        Ok(Self {
            url: required(&environment, "VESTIBULE_REDIS_URL")?,
        })
    }
}

/// Where the backup is: reads `VESTIBULE_QUEUES_TABLE`, `VESTIBULE_ENTRIES_TABLE` and, for an emulator,
/// `VESTIBULE_DYNAMODB_ENDPOINT`.
///
/// # Errors
/// Where a table is missing: a default would hide it until the first write fails.
pub fn dynamodb_from_env() -> Result<Connection, ConfigError> {
    Ok(Connection {
        endpoint_url: environment("VESTIBULE_DYNAMODB_ENDPOINT"),
        tables: Tables {
            queues: required(&environment, "VESTIBULE_QUEUES_TABLE")?,
            entries: required(&environment, "VESTIBULE_ENTRIES_TABLE")?,
        },
    })
}

#[cfg(test)]
mod tests;
