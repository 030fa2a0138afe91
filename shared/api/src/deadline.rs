//! When a function is stopped.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use lambda_runtime::Context;

/// Nothing before this (2001-09-09, in Unix milliseconds) is the deadline of an invocation.
const MOMENTS_FROM_MS: u64 = 1_000_000_000_000;
/// The longest span that is believed: about as long as the promoter's minute.
const SPAN_MAX: Duration = Duration::from_mins(1);

/// When the invocation is stopped, by the system's clock. Lambda says the moment; `cargo lambda watch` sends a span where
/// the moment belongs, and so a moment of 1970.
pub fn deadline(context: &Context) -> SystemTime {
    at(context.deadline, SystemTime::now())
}

fn at(deadline_ms: u64, now: SystemTime) -> SystemTime {
    let since = Duration::from_millis(deadline_ms);
    if deadline_ms < MOMENTS_FROM_MS {
        now + since.min(SPAN_MAX)
    } else {
        UNIX_EPOCH + since
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_taken_as_such_and_a_span_from_now() {
        let now = UNIX_EPOCH + Duration::from_millis(1_788_264_000_123);
        assert_eq!(at(1_788_264_029_123, now), now + Duration::from_secs(29));
        assert_eq!(
            at(1_788_263_999_123, now),
            now - Duration::from_secs(1),
            "it has passed"
        );
        assert_eq!(at(3_000, now), now + Duration::from_secs(3));
        assert_eq!(at(600_000, now), now + SPAN_MAX);
        assert_eq!(at(0, now), now);
    }
}
