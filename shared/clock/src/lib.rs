//! The clock of the machine that runs this process. It serves code that needs the world's time, such as
//! metrics, and code that cannot ask the line for line time.

mod steady;

use std::{
    sync::{Arc, OnceLock},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use time::{OffsetDateTime, format_description::well_known::Rfc3339};

pub use self::steady::SteadyTime;

/// Tells the time in Unix microseconds.
pub type Clock = Arc<dyn Fn() -> u64 + Send + Sync>;

/// The clock of this machine. While it reads as 1970, the line holds still.
pub fn system_clock() -> Clock {
    Arc::new(now_us)
}

/// The current time in Unix microseconds.
pub fn now_us() -> u64 {
    u64::try_from(since_1970().as_micros()).unwrap_or(u64::MAX)
}

/// The current time in Unix milliseconds.
pub fn now_ms() -> u64 {
    now_us() / 1_000
}

/// A time in Unix milliseconds as ISO 8601 in UTC, such as `2026-11-30T20:00:00Z`. A time that a calendar of four digits does
/// not have is the number itself.
pub fn to_iso(at_ms: u64) -> String {
    let at_seconds = i64::try_from(at_ms / 1_000).ok();
    let at = at_seconds.and_then(|seconds| OffsetDateTime::from_unix_timestamp(seconds).ok());
    let text = at.and_then(|at| at.format(&Rfc3339).ok());
    text.unwrap_or_else(|| at_ms.to_string())
}

/// The time since 1970. A clock set before 1970 reads as 1970.
fn since_1970() -> Duration {
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    match STEADY.get() {
        Some((time, start)) => time.tell(wall, start.elapsed()),
        None => wall,
    }
}

/// The steady time of this process, and the moment from which its monotonic clock counts.
static STEADY: OnceLock<(SteadyTime, Instant)> = OnceLock::new();

/// Makes the clock of this process [steady](SteadyTime): no jump of the machine's clock stops it. It is for a process that
/// serves alone and is never frozen, because a frozen process sees every thaw as a jump.
pub fn keep_steady() {
    STEADY.get_or_init(|| (SteadyTime::default(), Instant::now()));
}
