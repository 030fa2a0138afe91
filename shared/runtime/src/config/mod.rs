//! The configuration of the servers and secrets that a process reads from its environment variables. There is one struct for
//! each concern, and each has its own `from_env`. The routes read [theirs](vestibule_api::config).

mod key_store;
mod keys;
mod origin_key;
mod redis;
mod secret;

use vestibule_backup_dynamodb::{Connection, TableNames};
use vestibule_telemetry::{
    read_all,
    variables::{ConfigErrors, read_process_variable, read_required},
};

pub use self::{
    key_store::SigningKeysConfig,
    keys::{KeysConfig, RootKeyConfig},
    origin_key::OriginKeyConfig,
    redis::RedisConfig,
};

/// Reads the connection of the backup: `VESTIBULE_QUEUES_TABLE`, `VESTIBULE_ENTRIES_TABLE` and, for an
/// emulator, `VESTIBULE_DYNAMODB_ENDPOINT`.
///
/// # Errors
/// [`ConfigErrors`] if a table is not set. There is no default, because it would hide the mistake
/// until the first write fails.
pub fn dynamodb_from_env() -> Result<Connection, ConfigErrors> {
    read_all! {
        queues = read_required(&read_process_variable, "VESTIBULE_QUEUES_TABLE");
        entries = read_required(&read_process_variable, "VESTIBULE_ENTRIES_TABLE");
    }
    Ok(Connection {
        endpoint_url: read_process_variable("VESTIBULE_DYNAMODB_ENDPOINT"),
        tables: TableNames { queues, entries },
    })
}

#[cfg(test)]
mod tests;
