//! The configuration that a process reads from its environment variables. There is one struct for
//! each concern, and each has its own `from_env`. An error names the variable and never shows its
//! value.

mod api;
mod authorizer;
mod key_store;
mod keys;
mod origin_key;
mod redis;
mod secret;

use vestibule_backup_dynamodb::{Connection, TableNames};

pub use self::{
    api::{api_config_from_env, settings_policy_from_env},
    authorizer::authorizer_config_from_env,
    key_store::SigningKeysConfig,
    keys::{KeysConfig, RootKeyConfig},
    origin_key::OriginKeyConfig,
    redis::RedisConfig,
};

/// An environment variable that is missing or invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name} {reason}")]
pub struct ConfigError {
    /// The name of the variable.
    pub name: &'static str,
    /// What is wrong with the variable. The message is the name followed by this text.
    pub reason: String,
}

fn invalid_variable(name: &'static str, reason: impl Into<String>) -> ConfigError {
    ConfigError {
        name,
        reason: reason.into(),
    }
}

/// Looks up a variable by name, in the environment of the process or of a test.
pub type VariableLookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Reads a variable of the process. An empty variable counts as not set.
fn read_process_variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn read_required(vars: VariableLookup<'_>, name: &'static str) -> Result<String, ConfigError> {
    vars(name).ok_or_else(|| invalid_variable(name, "is not set"))
}

/// Reads the connection of the backup: `VESTIBULE_QUEUES_TABLE`, `VESTIBULE_ENTRIES_TABLE` and, for an
/// emulator, `VESTIBULE_DYNAMODB_ENDPOINT`.
///
/// # Errors
/// [`ConfigError`] if a table is not set. There is no default, because it would hide the mistake
/// until the first write fails.
pub fn dynamodb_from_env() -> Result<Connection, ConfigError> {
    Ok(Connection {
        endpoint_url: read_process_variable("VESTIBULE_DYNAMODB_ENDPOINT"),
        tables: TableNames {
            queues: read_required(&read_process_variable, "VESTIBULE_QUEUES_TABLE")?,
            entries: read_required(&read_process_variable, "VESTIBULE_ENTRIES_TABLE")?,
        },
    })
}

#[cfg(test)]
mod tests;
