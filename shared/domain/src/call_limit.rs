//! How often one entry may call a protected API: the generic cell rate algorithm (GCRA), with time as an
//! argument.
//!
//! The algorithm stores one number for an entry, the *theoretical arrival time* (TAT): when the next call
//! would arrive if all calls so far had come at the even rate. Each call moves it by one interval. A call
//! is refused if that would put it more than the period ahead of the clock. So an entry that was quiet has
//! a burst of all calls of the period, and gets one back per interval. See ATM Forum, Traffic Management
//! Specification 4.1, section 4.4.2, and <https://en.wikipedia.org/wiki/Generic_cell_rate_algorithm>.

use std::ops::RangeInclusive;

/// How many calls a limit may allow at once.
pub const LIMIT_CALLS: RangeInclusive<u32> = 1..=10_000;
/// The period of a limit, in seconds.
pub const LIMIT_SECONDS: RangeInclusive<u32> = 1..=3_600;
/// How many calls the default limit allows at once.
pub const CALLS_DEFAULT: u32 = 5;
/// The period of the default limit, in seconds.
pub const SECONDS_DEFAULT: u32 = 10;

/// A limit of calls: this many at once, and as many per period at the even rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallLimit {
    calls: u32,
    seconds: u32,
}

impl Default for CallLimit {
    /// 5 calls in 10 seconds.
    fn default() -> Self {
        Self {
            calls: CALLS_DEFAULT,
            seconds: SECONDS_DEFAULT,
        }
    }
}

/// The answer of the limit to one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallDecision {
    /// The theoretical arrival time to store, in Unix microseconds. It may be forgotten when it is past.
    pub arrival_us: u64,
    /// How long the caller waits until a call is allowed, in microseconds; 0 if this one is.
    pub wait_us: u64,
}

impl CallLimit {
    /// Creates a limit. `None` if a number is out of [`LIMIT_CALLS`] or [`LIMIT_SECONDS`].
    pub fn new(calls: u32, seconds: u32) -> Option<Self> {
        (LIMIT_CALLS.contains(&calls) && LIMIT_SECONDS.contains(&seconds)).then_some(Self { calls, seconds })
    }

    /// The time in which one call comes back, in microseconds.
    pub fn interval_us(self) -> u64 {
        u64::from(self.seconds) * 1_000_000 / u64::from(self.calls)
    }

    /// How far the theoretical arrival time may be ahead of the clock, in microseconds: the period.
    pub fn period_us(self) -> u64 {
        self.interval_us() * u64::from(self.calls)
    }

    /// Decides about a call at `now_us`. `stored_us` is the stored theoretical arrival time. One that is
    /// further ahead than the period is of a time before the clock was set back, and counts as all calls
    /// used.
    pub fn decide(self, stored_us: Option<u64>, now_us: u64) -> CallDecision {
        let latest_us = now_us + self.period_us();
        let arrival_us = stored_us.unwrap_or(0).clamp(now_us, latest_us);
        let next_us = arrival_us + self.interval_us();
        if next_us > latest_us {
            return CallDecision {
                arrival_us,
                wait_us: next_us - latest_us,
            };
        }
        CallDecision {
            arrival_us: next_us,
            wait_us: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_US: u64 = 1_000_000;
    const START_US: u64 = 1_800_000_000 * SECOND_US;

    #[test]
    fn calls_are_allowed_in_a_burst_and_then_at_the_rate() {
        let limit = CallLimit::default();
        // The second of each call, and how many seconds it has to wait.
        let calls = [
            (0, 0),
            (0, 0),
            (0, 0),
            (0, 0),
            (0, 0),
            (0, 2),
            (1, 1),
            (2, 0),
            (2, 2),
            (6, 0),
            (6, 0),
            (6, 2),
            // After a quiet period the whole burst is back, and no more.
            (100, 0),
            (100, 0),
            (100, 0),
            (100, 0),
            (100, 0),
            (100, 2),
            // The clock goes back by 40 s: the burst counts as used, and comes back at the same rate.
            (60, 2),
            (62, 0),
            (62, 2),
        ];
        let mut stored_us = None;
        for (number, (second, wait_seconds)) in calls.into_iter().enumerate() {
            let decision = limit.decide(stored_us, START_US + second * SECOND_US);
            assert_eq!(decision.wait_us, wait_seconds * SECOND_US, "call {number}");
            stored_us = Some(decision.arrival_us);
        }
    }

    #[test]
    fn a_limit_out_of_range_is_refused() {
        assert_eq!(CallLimit::new(5, 10), Some(CallLimit::default()));
        for (calls, seconds) in [(0, 10), (10_001, 10), (5, 0), (5, 3_601)] {
            assert_eq!(CallLimit::new(calls, seconds), None);
        }
    }
}
