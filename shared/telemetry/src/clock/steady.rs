//! A clock that no single change of the machine's clock moves.
//!
//! Callers in several processes compare their clocks. A process that serves alone has one clock: it compares the world's time
//! with the monotonic clock, which cannot be set.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

/// The two clocks may differ by this much in one reading: the wall clock is steered, and the readings are not simultaneous.
const NOISE: Duration = Duration::from_secs(1);
/// A wall clock that jumped ahead is believed after this time. A machine that slept jumps, too.
const BELIEVED_AFTER: Duration = Duration::from_mins(1);

/// Tells the world's time from readings of both clocks.
#[derive(Debug, Default)]
pub struct SteadyTime(Mutex<Option<Reading>>);

#[derive(Debug, Clone, Copy)]
struct Reading {
    /// The time that was told, since 1970.
    told: Duration,
    /// The monotonic clock.
    at: Duration,
    /// Since when the wall clock is ahead, by the monotonic clock.
    ahead_since: Option<Duration>,
}

impl SteadyTime {
    /// The time since 1970, given the wall clock (since 1970) and the monotonic clock (since any moment). It never goes
    /// back. A wall clock that jumped ahead counts only once it has lasted for a minute. One that was set back is caught up
    /// with at half speed, so that time never stands still.
    pub fn tell(&self, wall: Duration, monotonic: Duration) -> Duration {
        // A reading is written in one step, so the value in a poisoned lock is whole.
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let next = match *last {
            None => Reading {
                told: wall,
                at: monotonic,
                ahead_since: None,
            },
            Some(last) => last.advance(wall, monotonic.max(last.at)),
        };
        *last = Some(next);
        next.told
    }
}

impl Reading {
    fn advance(self, wall: Duration, at: Duration) -> Self {
        let passed = at.saturating_sub(self.at);
        let expected = self.told + passed;
        let (told, ahead_since) = if wall.abs_diff(expected) <= NOISE {
            (wall.max(self.told), None)
        } else if wall < expected {
            (self.told + passed / 2, None)
        } else {
            let since = self.ahead_since.unwrap_or(at);
            if at.saturating_sub(since) >= BELIEVED_AFTER {
                (wall, None)
            } else {
                (expected, Some(since))
            }
        };
        Self {
            told,
            at,
            ahead_since,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START_S: u64 = 1_800_000_000;
    const HOUR_S: u64 = 3_600;

    /// Reads once a second, `seconds` times. Returns by how many seconds the told time advanced.
    fn advance(time: &SteadyTime, from_s: u64, seconds: u64, wall_off_s: i64) -> u64 {
        let read = |second: u64| {
            let wall = (START_S + second).saturating_add_signed(wall_off_s);
            time.tell(Duration::from_secs(wall), Duration::from_secs(second))
        };
        let told: Vec<_> = (from_s..=from_s + seconds).map(read).collect();
        assert!(told.is_sorted(), "{told:?}");
        told[told.len() - 1].saturating_sub(told[0]).as_secs()
    }

    fn is_near(seconds: u64, expected: u64) -> bool {
        seconds.abs_diff(expected) < 2
    }

    #[test]
    fn a_jump_that_ends_leaves_no_trace() {
        let time = SteadyTime::default();
        assert!(is_near(advance(&time, 0, 10, 0), 10));
        assert!(is_near(advance(&time, 10, 50, HOUR_S.cast_signed()), 50));
        assert!(is_near(advance(&time, 60, 10, 0), 10));
        let told = time.tell(Duration::from_secs(START_S + 71), Duration::from_secs(71));
        assert_eq!(told, Duration::from_secs(START_S + 71));
    }

    #[test]
    fn a_jump_that_lasts_is_believed_after_a_minute() {
        let time = SteadyTime::default();
        advance(&time, 0, 10, 0);
        assert!(is_near(advance(&time, 10, 65, HOUR_S.cast_signed()), HOUR_S + 65));
    }

    #[test]
    fn a_clock_that_was_set_back_is_caught_up_with() {
        let time = SteadyTime::default();
        advance(&time, 0, 10, HOUR_S.cast_signed());
        let slow = advance(&time, 10, HOUR_S, 0);
        assert!(is_near(slow, HOUR_S / 2), "{slow}");
        advance(&time, 10 + HOUR_S, HOUR_S, 0);
        let second = 11 + 2 * HOUR_S;
        let told = time.tell(Duration::from_secs(START_S + second), Duration::from_secs(second));
        assert_eq!(told, Duration::from_secs(START_S + second));
    }

    #[test]
    fn small_steps_of_the_wall_clock_are_followed() {
        let time = SteadyTime::default();
        time.tell(Duration::from_secs(START_S), Duration::ZERO);
        let told = time.tell(
            Duration::from_millis(START_S * 1_000 + 1_800),
            Duration::from_secs(1),
        );
        assert_eq!(told, Duration::from_millis(START_S * 1_000 + 1_800));
    }
}
