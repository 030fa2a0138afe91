//! The clock of the machine that this process runs on, for what goes by the world's time, or cannot have a line's.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Unix microseconds.
pub(crate) fn now_us() -> u64 {
    u64::try_from(since_1970().as_micros()).unwrap_or(u64::MAX)
}

/// Unix milliseconds.
pub(crate) fn now_ms() -> u64 {
    now_us() / 1_000
}

/// A clock before 1970 reads as 1970.
fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
