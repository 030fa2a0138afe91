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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_out_of_range_is_refused() {
        assert_eq!(CallLimit::new(5, 10), Some(CallLimit::default()));
        for (calls, seconds) in [(0, 10), (10_001, 10), (5, 0), (5, 3_601)] {
            assert_eq!(CallLimit::new(calls, seconds), None);
        }
    }
}
