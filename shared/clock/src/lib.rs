//! The clock of the machine that this process runs on, for what goes by the world's time, or cannot have a line's.

use std::{
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// Tells the time in Unix microseconds.
pub type Clock = Arc<dyn Fn() -> u64 + Send + Sync>;

/// The clock of this machine. While it reads as 1970, the line holds still.
pub fn system_clock() -> Clock {
    Arc::new(now_us)
}

/// Unix microseconds.
pub fn now_us() -> u64 {
    u64::try_from(since_1970().as_micros()).unwrap_or(u64::MAX)
}

/// Unix milliseconds.
pub fn now_ms() -> u64 {
    now_us() / 1_000
}

/// A clock before 1970 reads as 1970.
fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
