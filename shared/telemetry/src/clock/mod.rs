//! The clock of the machine that runs this process. It serves code that needs the world's time, such as
//! metrics, and code that cannot ask the line for line time.

mod steady;

use std::{
    sync::{Arc, OnceLock},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

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
