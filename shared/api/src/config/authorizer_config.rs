//! The configuration of the authorizer: which queues protect the API, and how often an entry may call it.

use std::str::FromStr;

use vestibule_domain::{
    call_limit::{CALLS_DEFAULT, CallLimit, LIMIT_CALLS, LIMIT_SECONDS, SECONDS_DEFAULT},
    id::QueueId,
};
use vestibule_telemetry::{
    read_all,
    variables::{ConfigError, ConfigErrors, VariableLookup, invalid_variable, read_process_variable},
};

const QUEUES: &str = "VESTIBULE_AUTHORIZER_QUEUES";
const CALLS: &str = "VESTIBULE_AUTHORIZER_CALLS";
const SECONDS: &str = "VESTIBULE_AUTHORIZER_SECONDS";

/// The configuration of the authorizer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AuthorizerConfig {
    /// The queues whose visitors may call the protected APIs.
    pub queues: ProtectedQueues,
    /// How often each entry may call them; `None` for no limit.
    pub limit: Option<CallLimit>,
}

impl AuthorizerConfig {
    /// Reads these variables, which are all optional:
    ///
    /// - `VESTIBULE_AUTHORIZER_QUEUES`: queue ids, comma-separated; an id may end with `*`. Without it, every
    ///   request is denied.
    /// - `VESTIBULE_AUTHORIZER_CALLS`: how many calls an entry has in the period, 5 by default; 0 for no limit
    /// - `VESTIBULE_AUTHORIZER_SECONDS`: the period, 10 by default
    ///
    /// # Errors
    /// [`ConfigErrors`] for the variables that are invalid.
    pub fn from_env() -> Result<Self, ConfigErrors> {
        read_authorizer_config(&read_process_variable)
    }
}

fn read_authorizer_config(vars: VariableLookup<'_>) -> Result<AuthorizerConfig, ConfigErrors> {
    let listed = vars(QUEUES).unwrap_or_default().parse();
    read_all! {
        queues = listed.map_err(|error: InvalidQueues| invalid_variable(QUEUES, error.to_string()));
        calls = read_calls(vars);
        seconds = read_seconds(vars);
    }
    Ok(AuthorizerConfig {
        queues,
        limit: CallLimit::new(calls, seconds),
    })
}

fn read_calls(vars: VariableLookup<'_>) -> Result<u32, ConfigError> {
    let calls = read_number(CALLS, vars, CALLS_DEFAULT)?;
    if calls > *LIMIT_CALLS.end() {
        let reason = format!("must be 0 for no limit, or at most {}", LIMIT_CALLS.end());
        return Err(invalid_variable(CALLS, reason));
    }
    Ok(calls)
}

fn read_seconds(vars: VariableLookup<'_>) -> Result<u32, ConfigError> {
    let seconds = read_number(SECONDS, vars, SECONDS_DEFAULT)?;
    if !LIMIT_SECONDS.contains(&seconds) {
        let (min, max) = (LIMIT_SECONDS.start(), LIMIT_SECONDS.end());
        return Err(invalid_variable(
            SECONDS,
            format!("must be from {min} to {max} seconds"),
        ));
    }
    Ok(seconds)
}

fn read_number(name: &'static str, vars: VariableLookup<'_>, default: u32) -> Result<u32, ConfigError> {
    match vars(name) {
        None => Ok(default),
        Some(text) => text
            .parse()
            .map_err(|_| invalid_variable(name, "must be a whole number")),
    }
}

/// A list of queues. An empty list has none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProtectedQueues(Vec<QueuePattern>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum QueuePattern {
    /// This queue.
    Id(QueueId),
    /// Every queue whose id begins like this.
    Prefix(String),
}

/// A text that is no list of queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be a comma-separated list of queue ids; an id may end with * for all ids that begin like it")]
pub struct InvalidQueues;

impl ProtectedQueues {
    /// Whether the list has no queue.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the list contains a queue.
    pub fn contains(&self, queue: &QueueId) -> bool {
        self.0.iter().any(|pattern| match pattern {
            QueuePattern::Id(id) => id == queue,
            QueuePattern::Prefix(prefix) => queue.as_str().starts_with(prefix),
        })
    }

    /// The only queue of the list; `None` if the list may have several.
    pub fn only_queue(&self) -> Option<&QueueId> {
        match self.0.as_slice() {
            [QueuePattern::Id(id)] => Some(id),
            _ => None,
        }
    }
}

impl FromStr for ProtectedQueues {
    type Err = InvalidQueues;

    /// Parses ids that are separated by commas, such as `TIMEDEAL:123, RAFFLE:*`.
    fn from_str(text: &str) -> Result<Self, InvalidQueues> {
        let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
        let patterns = items.map(|item| match item.strip_suffix('*') {
            Some("") => Ok(QueuePattern::Prefix(String::new())),
            // The beginning of an id is an id itself.
            Some(prefix) => prefix
                .parse::<QueueId>()
                .map(|prefix| QueuePattern::Prefix(prefix.to_string()))
                .map_err(|_| InvalidQueues),
            None => item.parse().map(QueuePattern::Id).map_err(|_| InvalidQueues),
        });
        patterns.collect::<Result<_, _>>().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queues(list: &str) -> ProtectedQueues {
        list.parse().expect("a list")
    }

    fn contains(list: &str, queue: &str) -> bool {
        queues(list).contains(&queue.parse().expect("a queue id"))
    }

    #[test]
    fn a_list_contains_its_ids_and_prefixes_only() {
        let list = " TIMEDEAL:1, RAFFLE:*,";
        for own in ["TIMEDEAL:1", "RAFFLE:", "RAFFLE:2026"] {
            assert!(contains(list, own), "{own}");
        }
        for other in ["TIMEDEAL:12", "TIMEDEAL:", "RAFFLE", "raffle:1"] {
            assert!(!contains(list, other), "{other}");
        }
        assert!(contains("*", "any"));
        assert!(!contains("", "any") && queues(" , ").is_empty());
        for invalid in ["a b", "a*b", "**", "x/*", "-a"] {
            assert_eq!(
                invalid.parse::<ProtectedQueues>(),
                Err(InvalidQueues),
                "{invalid}"
            );
        }
    }

    #[test]
    fn a_single_id_is_the_only_queue() {
        assert_eq!(queues("a").only_queue().map(QueueId::as_str), Some("a"));
        for list in ["", "a,b", "a*"] {
            assert_eq!(queues(list).only_queue(), None, "{list}");
        }
    }

    fn read(name: &'static str, value: &'static str) -> Result<AuthorizerConfig, ConfigErrors> {
        read_authorizer_config(&move |asked| (asked == name).then(|| value.to_owned()))
    }

    #[test]
    fn empty_environment_admits_no_queue_and_limits_calls() {
        let config = read("OTHER", "").expect("valid");
        assert!(config.queues.is_empty());
        assert_eq!(config.limit, Some(CallLimit::default()));
    }

    #[test]
    fn no_calls_mean_no_limit() {
        assert_eq!(read(CALLS, "0").expect("valid").limit, None);
        assert_eq!(read(CALLS, "7").expect("valid").limit, CallLimit::new(7, 10));
        assert_eq!(read(SECONDS, "60").expect("valid").limit, CallLimit::new(5, 60));
    }

    #[test]
    fn invalid_value_is_refused_by_variable_name() {
        for (name, value) in [
            (QUEUES, "a b"),
            (CALLS, "-1"),
            (CALLS, "10001"),
            (SECONDS, "0"),
            (SECONDS, "3601"),
        ] {
            assert_eq!(read(name, value).expect_err(value).names(), [name], "{value}");
        }
    }
}
