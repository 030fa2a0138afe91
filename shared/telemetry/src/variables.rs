//! How a process reads its configuration from environment variables. An error names every variable that is wrong, and never shows
//! a value.

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
#[derive(Debug, Default)]
pub struct Mistakes(Vec<ConfigError>);

impl Mistakes {
    /// The value that was read; `None` if it is wrong.
    pub fn take<T>(&mut self, read: Result<T, impl Into<ConfigErrors>>) -> Option<T> {
        read.map_err(|errors| self.0.extend(errors.into().0)).ok()
    }

    /// All that was wrong.
    pub fn into_errors(self) -> ConfigErrors {
        ConfigErrors(self.0)
    }
}

/// Reads each value, and leaves the function with all that is wrong if one is.
#[macro_export]
macro_rules! read_all {
    ($($value:ident = $read:expr;)+) => {
        let mut mistakes = $crate::variables::Mistakes::default();
        $(let $value = mistakes.take($read);)+
        let ($(Some($value),)+) = ($($value,)+) else {
            return Err(mistakes.into_errors().into());
        };
    };
}
/// A variable that is missing or invalid, for this reason.
pub fn invalid_variable(name: &'static str, reason: impl Into<String>) -> ConfigError {
    ConfigError {
        name,
        reason: reason.into(),
    }
}

/// Looks up a variable by name, in the environment of the process or of a test.
pub type VariableLookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Reads a variable of the process. An empty variable counts as not set.
pub fn read_process_variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Reads a variable that must be set.
///
/// # Errors
/// It is not.
pub fn read_required(vars: VariableLookup<'_>, name: &'static str) -> Result<String, ConfigError> {
    vars(name).ok_or_else(|| invalid_variable(name, "is not set"))
}
