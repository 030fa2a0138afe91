//! Line time: the current time of a queue, and whether that time can be trusted.
//!
//! Three clocks take part:
//!
//! - The *server's clock* (Redis `TIME` plus an offset) is the one that all callers share.
//! - The *witness* is the clock of the caller.
//! - The *last line time* is the time that the line recorded when the other two agreed.
//!
//! If the server's clock and the witness differ too much, neither is trusted alone. If they agree
//! that the last line time is in the future, both were wrong when the line recorded it. See
//! `docs/adr/0003-clocks-and-pace.md`.

/// The server's clock and a witness may differ by this much, in milliseconds. The difference
/// between clocks kept by NTP, together with the duration of a call, is far below it.
pub const CLOCK_DIFFERENCE_MAX_MS: u64 = 5_000;
/// A difference below this is not corrected, in milliseconds. It may come from the measurement itself.
pub const CLOCK_NOISE_MS: u64 = 1_000;
/// A record whose visit began later than both clocks show by more than this is not believed, in
/// milliseconds. A clock was wrong, or someone edited the record.
pub const FUTURE_MAX_MS: u64 = 60_000;

/// Line time as one call reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineTime {
    /// Line time, in Unix microseconds. While the clocks differ too much, it is the earlier of the
    /// two. It never goes back.
    pub us: u64,
    /// The clock of the caller, in Unix milliseconds.
    pub witness_ms: u64,
    /// How far the two clocks differ.
    pub clocks: ClockDifference,
}

/// The difference between the server's clock and the clock of a caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ClockDifference {
    /// Whether the two clocks, or the last line time and both of them, differ by more than 5 s. The line then promotes and
    /// drops no entry.
    pub apart: bool,
    /// How far the server's clock with its offset is ahead of the caller's, in milliseconds;
    /// negative if it is behind.
    pub ahead_ms: i64,
    /// The offset that is added to the server's clock, in milliseconds.
    pub offset_ms: i64,
}

impl LineTime {
    /// Derives line time from the server's clock (Unix microseconds) and a witness (Unix
    /// milliseconds). The result is never before `last_us`.
    pub fn from_clocks(server_us: u64, offset_ms: i64, witness_ms: u64, last_us: u64) -> Self {
        let shifted_us = server_us.saturating_add_signed(offset_ms * 1_000);
        let witness_us = witness_ms * 1_000;
        let differ = shifted_us.abs_diff(witness_us) > CLOCK_DIFFERENCE_MAX_MS * 1_000;
        let last_is_ahead = last_us > shifted_us.max(witness_us) + CLOCK_DIFFERENCE_MAX_MS * 1_000;
        // If at least one of the two clocks is right, the earlier one is not ahead of the right
        // time. So no turn and no session ends early.
        let us = if differ {
            shifted_us.min(witness_us)
        } else {
            shifted_us
        };
        Self {
            us: us.max(last_us),
            witness_ms,
            clocks: ClockDifference {
                apart: differ || last_is_ahead,
                ahead_ms: signed_difference(shifted_us, witness_us).div_euclid(1_000),
                offset_ms,
            },
        }
    }

    /// Line time in Unix milliseconds.
    pub fn ms(self) -> u64 {
        self.us / 1_000
    }

    /// The time at which a restored queue begins, in Unix microseconds. `last_us` is the highest
    /// version in the backup. If the two clocks differ, it tells which of them is right. It never
    /// moves line time beyond both: a version from the future comes from a clock that was wrong, or
    /// from an edit by hand.
    pub fn with_last_version(self, last_us: u64) -> u64 {
        let latest_us = self.later_clock_ms() * 1_000;
        if last_us > latest_us + CLOCK_DIFFERENCE_MAX_MS * 1_000 {
            return self.us;
        }
        self.us.max(last_us.min(latest_us))
    }

    /// The latest time, in Unix milliseconds, at which a visit can have begun. One of the two
    /// clocks may be slow, so the later one counts.
    pub fn latest_visit_ms(self) -> u64 {
        self.later_clock_ms() + FUTURE_MAX_MS
    }

    fn later_clock_ms(self) -> u64 {
        let server_ms = self.witness_ms.saturating_add_signed(self.clocks.ahead_ms);
        self.witness_ms.max(server_ms)
    }
}

impl ClockDifference {
    /// Whether the server's clock and the caller's differ by more than [`CLOCK_DIFFERENCE_MAX_MS`].
    /// If they do not and are [apart](Self::apart) all the same, the last line time is ahead of
    /// both.
    pub fn is_server_off(self) -> bool {
        self.ahead_ms.unsigned_abs() > CLOCK_DIFFERENCE_MAX_MS
    }

    /// The offset that would make the server's clock agree with the caller's, in milliseconds. It
    /// is zero if the server's own clock is less than [`CLOCK_NOISE_MS`] off.
    pub fn wanted_offset_ms(self) -> i64 {
        let wanted_ms = self.offset_ms - self.ahead_ms;
        if wanted_ms.unsigned_abs() < CLOCK_NOISE_MS {
            0
        } else {
            wanted_ms
        }
    }
}

fn signed_difference(a: u64, b: u64) -> i64 {
    let signed = |us: u64| i64::try_from(us).unwrap_or(i64::MAX);
    signed(a) - signed(b)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW_MS: u64 = 1_788_220_800_000;
    const HOUR_MS: i64 = 3_600_000;

    fn line_time_at(server_ms: i64, last_ms: i64) -> LineTime {
        let ms = |from_now_ms| NOW_MS.saturating_add_signed(from_now_ms);
        LineTime::from_clocks(ms(server_ms) * 1_000, 0, NOW_MS, ms(last_ms) * 1_000)
    }

    proptest! {
        /// The documented bound: if one of the two clocks is right, nothing ends more than
        /// [`CLOCK_DIFFERENCE_MAX_MS`] early.
        #[test]
        fn line_time_is_not_ahead_if_one_clock_is_right(
            off_ms in -7_200_000_i64..7_200_000,
            server_is_right: bool,
            last_before_ms in 0_u64..7_200_000,
        ) {
            let wrong_ms = NOW_MS.saturating_add_signed(off_ms);
            let (server_ms, witness_ms) = if server_is_right { (NOW_MS, wrong_ms) } else { (wrong_ms, NOW_MS) };
            let last_us = (NOW_MS - last_before_ms) * 1_000;
            let time = LineTime::from_clocks(server_ms * 1_000, 0, witness_ms, last_us);
            prop_assert!(time.us >= last_us, "line time never goes back");
            prop_assert!(time.ms() <= NOW_MS + CLOCK_DIFFERENCE_MAX_MS, "ahead by {}", time.ms() - NOW_MS);
            prop_assert_eq!(time.clocks.apart, off_ms.unsigned_abs() > CLOCK_DIFFERENCE_MAX_MS);
        }

        /// A last line time that is further ahead than both clocks may differ was recorded by wrong
        /// clocks.
        #[test]
        fn a_last_time_ahead_of_both_clocks_is_noticed(
            server_ms in -5_000_i64..5_000,
            last_ms in -10_000_i64..20_000,
        ) {
            let time = line_time_at(server_ms, last_ms);
            let max_ms = i64::try_from(CLOCK_DIFFERENCE_MAX_MS).unwrap_or(i64::MAX);
            prop_assert_eq!(time.clocks.apart, last_ms - server_ms.max(0) > max_ms);
            prop_assert!(!time.clocks.is_server_off());
        }

        /// With the wanted offset the clocks agree again, whatever the previous offset was.
        #[test]
        fn the_wanted_offset_makes_the_clocks_agree(
            server_ms in 1_000_000_000_000_u64..2_000_000_000_000,
            offset_ms in -7_200_000_i64..7_200_000,
        ) {
            let before = LineTime::from_clocks(server_ms * 1_000, offset_ms, NOW_MS, 0);
            let after = LineTime::from_clocks(server_ms * 1_000, before.clocks.wanted_offset_ms(), NOW_MS, 0);
            prop_assert!(!after.clocks.apart);
            prop_assert!(after.ms().abs_diff(NOW_MS) <= CLOCK_NOISE_MS);
        }
    }

    #[test]
    fn a_version_tells_which_clock_is_right_and_never_moves_time_beyond_both() {
        let begins_after_ms = |server_ms, last_ms: i64| {
            let last_us = NOW_MS.saturating_add_signed(last_ms) * 1_000;
            let begin_us = line_time_at(server_ms, -2 * HOUR_MS).with_last_version(last_us);
            signed_difference(begin_us, NOW_MS * 1_000) / 1_000
        };
        for (server_ms, last_ms, wanted_ms) in [
            (0, -5_000, 0),
            (0, 4_000, 0),
            (0, HOUR_MS, 0),
            (-HOUR_MS, -5_000, -5_000),
            (-HOUR_MS, HOUR_MS, -HOUR_MS),
            (HOUR_MS, HOUR_MS - 5_000, HOUR_MS - 5_000),
            (HOUR_MS, -5_000, 0),
        ] {
            assert_eq!(
                begins_after_ms(server_ms, last_ms),
                wanted_ms,
                "{server_ms} {last_ms}"
            );
        }
    }

    #[test]
    fn a_difference_within_the_noise_needs_no_offset() {
        let clocks = |ahead_ms, offset_ms| ClockDifference {
            apart: true,
            ahead_ms,
            offset_ms,
        };
        assert_eq!(
            clocks(-HOUR_MS + 40, -HOUR_MS).wanted_offset_ms(),
            0,
            "the server's clock was corrected"
        );
        assert_eq!(clocks(HOUR_MS, 0).wanted_offset_ms(), -HOUR_MS);
        assert_eq!(clocks(-6_000, -HOUR_MS).wanted_offset_ms(), -HOUR_MS + 6_000);
    }
}
