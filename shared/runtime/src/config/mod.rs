//! What the environment says: one struct a concern, each read by its own `from_env`, with errors that name the variable
//! and never show its value.

mod api;
mod keys;
mod redis;
mod secret;

use vestibule_backup_dynamodb::{Connection, Tables};

pub use self::{
    api::api_config_from_env,
    keys::{KeysConfig, RootKeyConfig},
    redis::RedisConfig,
};

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
pub type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The process's own environment; an empty variable counts as none.
fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn required(vars: Lookup<'_>, name: &'static str) -> Result<String, ConfigError> {
    vars(name).ok_or_else(|| wrong(name, "is not set"))
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
