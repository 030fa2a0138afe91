//! The moment at which Lambda stops the current invocation.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use lambda_runtime::Context;

/// A deadline value below this (2001-09-09, in Unix milliseconds) cannot be the deadline of an
/// invocation, so it is read as a span.
const MOMENT_MIN_MS: u64 = 1_000_000_000_000;
/// The longest span that is accepted. It is about as long as the promoter's one-minute run.
const SPAN_MAX: Duration = Duration::from_mins(1);

/// The moment at which Lambda stops the invocation, by the system's clock.
///
/// Lambda sends this moment in Unix milliseconds. `cargo lambda watch` sends a span instead, which
/// would be a moment in 1970. A small value therefore counts as a span from now, up to one minute.
pub fn invocation_deadline(context: &Context) -> SystemTime {
    parse_deadline(context.deadline, SystemTime::now())
}

fn parse_deadline(deadline_ms: u64, now: SystemTime) -> SystemTime {
    let since = Duration::from_millis(deadline_ms);
    if deadline_ms < MOMENT_MIN_MS {
        now + since.min(SPAN_MAX)
    } else {
        UNIX_EPOCH + since
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_value_is_a_moment_and_a_small_one_a_span() {
        let now = UNIX_EPOCH + Duration::from_millis(1_788_264_000_123);
        assert_eq!(
            parse_deadline(1_788_264_029_123, now),
            now + Duration::from_secs(29)
        );
        assert_eq!(
            parse_deadline(1_788_263_999_123, now),
            now - Duration::from_secs(1),
            "the deadline has passed"
        );
        assert_eq!(parse_deadline(3_000, now), now + Duration::from_secs(3));
        assert_eq!(parse_deadline(600_000, now), now + SPAN_MAX);
        assert_eq!(parse_deadline(0, now), now);
    }
}
