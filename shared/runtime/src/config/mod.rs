//! The configuration that a process reads from its environment variables. There is one struct for
//! each concern, and each has its own `from_env`. An error names every variable that is wrong, and never
//! shows a value.

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

/// Every variable of a process that is missing or invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.describe())]
pub struct ConfigErrors(Vec<ConfigError>);

impl ConfigErrors {
    /// The names of the variables.
    pub fn names(&self) -> Vec<&'static str> {
        self.0.iter().map(|error| error.name).collect()
    }

    fn describe(&self) -> String {
        let errors: Vec<_> = self.0.iter().map(ConfigError::to_string).collect();
        errors.join("; ")
    }
}

impl From<ConfigError> for ConfigErrors {
    fn from(error: ConfigError) -> Self {
        Self(vec![error])
    }
}

/// Collects what is wrong, so that an operator who corrects it learns of all mistakes at once.
#[derive(Default)]
pub(crate) struct Mistakes(Vec<ConfigError>);

impl Mistakes {
    /// The value that was read; `None` if it is wrong.
    pub(crate) fn take<T>(&mut self, read: Result<T, impl Into<ConfigErrors>>) -> Option<T> {
        read.map_err(|errors| self.0.extend(errors.into().0)).ok()
    }

    pub(crate) fn into_errors(self) -> ConfigErrors {
        ConfigErrors(self.0)
    }
}

/// Reads each value, and leaves the function with all that is wrong if one is.
macro_rules! read_all {
    ($($value:ident = $read:expr;)+) => {
        let mut mistakes = $crate::config::Mistakes::default();
        $(let $value = mistakes.take($read);)+
        let ($(Some($value),)+) = ($($value,)+) else {
            return Err(mistakes.into_errors().into());
        };
    };
}
pub(crate) use read_all;

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
