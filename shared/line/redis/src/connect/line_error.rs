//! Tells a mistake of this program from an outage of Redis.

use redis::RedisError;
use vestibule_line::LineError;

/// Converts an error of the Redis client. The codes `ERR`, `WRONGTYPE`, `NOPERM` and `CROSSSLOT`
/// report a mistake of this program or its setup: [`LineError::Protocol`]. Any other error may be
/// temporary: [`LineError::Unavailable`].
#[allow(clippy::needless_pass_by_value)] // `map_err` passes the error by value.
pub(crate) fn to_line_error(error: RedisError) -> LineError {
    let own_fault_codes = ["ERR", "WRONGTYPE", "NOPERM", "CROSSSLOT"];
    if error.is_timeout()
        || error.is_io_error()
        || !error.code().is_some_and(|code| own_fault_codes.contains(&code))
    {
        LineError::Unavailable(error.to_string())
    } else {
        LineError::Protocol(error.to_string())
    }
}
