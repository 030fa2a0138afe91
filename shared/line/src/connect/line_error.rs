//! Tells a mistake of this program from an outage of Redis.

use redis::{ErrorKind, RedisError, ServerErrorKind};

use crate::LineError;

/// Converts an error of the Redis client. The codes `ERR`, `WRONGTYPE`, `NOPERM` and `CROSSSLOT`
/// report a mistake of this program or its setup: [`LineError::Protocol`], and `OOM` a full memory: [`LineError::Full`]. Any
/// other error may be temporary: [`LineError::Unavailable`].
#[allow(clippy::needless_pass_by_value)] // `map_err` passes the error by value.
pub(crate) fn to_line_error(error: RedisError) -> LineError {
    let cause = error.to_string();
    match error.code() {
        _ if error.is_timeout() || error.is_io_error() => LineError::Unavailable(cause),
        Some("OOM") => LineError::Full(cause),
        Some("ERR" | "WRONGTYPE" | "NOPERM" | "CROSSSLOT") => LineError::Protocol(cause),
        _ => LineError::Unavailable(cause),
    }
}

/// Whether the server refused a command because it is a replica or loads its data. It then carried out
/// nothing.
pub(super) fn is_demotion(error: &RedisError) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Server(
            ServerErrorKind::ReadOnly | ServerErrorKind::MasterDown | ServerErrorKind::BusyLoading
        )
    )
}

/// Whether the connection ended before the answer came. The server may have carried out the command or not.
pub(super) fn is_cut(error: &RedisError) -> bool {
    error.is_connection_dropped() && !error.is_connection_refusal()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_error(reply: &str) -> RedisError {
        let value = redis::parse_redis_value(reply.as_bytes()).expect("the reply is valid");
        value.extract_error().expect_err("the reply is an error")
    }

    #[test]
    fn a_refusal_of_a_demoted_server_is_an_outage() {
        let refusals = [
            "-READONLY You can't write against a read only replica.\r\n",
            "-READONLY You can't write against a read only replica. script: 8f1c, on @user_script:3.\r\n",
            "-READONLY Can not run script with write flag on readonly replica.\r\n",
            "-MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.\r\n",
            "-LOADING Redis is loading the dataset in memory\r\n",
        ];
        for refusal in refusals {
            let error = parse_error(refusal);
            assert!(is_demotion(&error), "{refusal}");
            assert!(
                matches!(to_line_error(error), LineError::Unavailable(_)),
                "{refusal}"
            );
        }
    }

    #[test]
    fn other_errors_do_not_mean_a_demoted_server() {
        let others = [
            "-ERR unknown command\r\n",
            "-NOPERM User default has no permissions\r\n",
            "-NOREPLICAS Not enough good replicas to write.\r\n",
            "-OOM command not allowed when used memory > 'maxmemory'.\r\n",
            "-NOSCRIPT No matching script. Please use EVAL.\r\n",
        ];
        for other in others {
            assert!(!is_demotion(&parse_error(other)), "{other}");
        }
    }
}
