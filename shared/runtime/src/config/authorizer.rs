//! What the environment says of the authorizer.

use vestibule_api::config::{AuthorizerConfig, InvalidQueues};
use vestibule_domain::call_limit::{CALLS_DEFAULT, CallLimit, LIMIT_CALLS, LIMIT_SECONDS, SECONDS_DEFAULT};

use super::{ConfigError, ConfigErrors, VariableLookup, invalid_variable, read_all, read_process_variable};

const QUEUES: &str = "VESTIBULE_AUTHORIZER_QUEUES";
const CALLS: &str = "VESTIBULE_AUTHORIZER_CALLS";
const SECONDS: &str = "VESTIBULE_AUTHORIZER_SECONDS";

/// Reads these variables, which are all optional:
///
/// - `VESTIBULE_AUTHORIZER_QUEUES`: queue ids, comma-separated; an id may end with `*`. Without it, every
///   request is denied.
/// - `VESTIBULE_AUTHORIZER_CALLS`: how many calls an entry has in the period, 5 by default; 0 for no limit
/// - `VESTIBULE_AUTHORIZER_SECONDS`: the period, 10 by default
///
/// # Errors
/// [`ConfigErrors`] for the variables that are invalid.
pub fn authorizer_config_from_env() -> Result<AuthorizerConfig, ConfigErrors> {
    read_authorizer_config(&read_process_variable)
}

pub(super) fn read_authorizer_config(vars: VariableLookup<'_>) -> Result<AuthorizerConfig, ConfigErrors> {
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

#[cfg(test)]
mod tests {
    use super::*;

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
