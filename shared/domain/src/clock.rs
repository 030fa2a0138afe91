//! Line time: what time it is for a queue, and whether that is certain.
//!
//! Three clocks take part. The *server's* (Redis's `TIME`, moved by an offset) is the one that all callers share. The
//! *witness* is the caller's own. The *last line time* is what the line took down when both agreed. Where the first two
//! part, no single clock is believed: see `docs/decisions/line-clock.md`.

/// How far the server's clock and a witness may part, in milliseconds. Clocks that are kept by NTP, and the time that a
/// call takes, stay far below it.
pub const APART_MS: u64 = 5_000;
/// A difference below this is left alone, in milliseconds: it is the noise of measuring.
pub const NOISE_MS: u64 = 1_000;
/// The line's last time speaks for a witness that is so much ahead of it at most, in milliseconds: drivers take it down
/// each second while they run.
pub const RECENT_MS: u64 = 60_000;

/// What the clocks of one call say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineTime {
    /// Line time, in Unix microseconds. While the clocks are apart it is the earlier of the two, and it never goes back.
    pub us: u64,
    /// The caller's clock, in Unix milliseconds.
    pub witness_ms: u64,
    /// How they stand to one another.
    pub clocks: Clocks,
}

/// How the server's clock stands to the caller's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct Clocks {
    /// Whether they are more than [`APART_MS`] apart: nobody is promoted, and nothing is dropped.
    pub apart: bool,
    /// How far the server's, with its offset, is ahead of the caller's, in milliseconds; below 0 where it is behind.
    pub ahead_ms: i64,
    /// What is added to the server's clock, in milliseconds.
    pub offset_ms: i64,
}

impl LineTime {
    /// The time by the server's clock (Unix microseconds) and a witness (Unix milliseconds), not before `last_us`.
    pub fn read(server_us: u64, offset_ms: i64, witness_ms: u64, last_us: u64) -> Self {
        let shifted_us = server_us.saturating_add_signed(offset_ms * 1_000);
        let witness_us = witness_ms * 1_000;
        let apart = shifted_us.abs_diff(witness_us) > APART_MS * 1_000;
        // Where one of the two is right, the earlier one is not ahead of it: nothing ends before its time.
        let us = if apart {
            shifted_us.min(witness_us)
        } else {
            shifted_us
        };
        Self {
            us: us.max(last_us),
            witness_ms,
            clocks: Clocks {
                apart,
                ahead_ms: difference(shifted_us, witness_us).div_euclid(1_000),
                offset_ms,
            },
        }
    }

    /// The same in milliseconds.
    pub fn ms(self) -> u64 {
        self.us / 1_000
    }
}

impl Clocks {
    /// The offset that would make the server's clock agree with the caller's, in milliseconds; none for a server that is
    /// nearly right by itself.
    pub fn wanted_offset_ms(self) -> i64 {
        let wanted_ms = self.offset_ms - self.ahead_ms;
        if wanted_ms.unsigned_abs() < NOISE_MS {
            0
        } else {
            wanted_ms
        }
    }
}

/// Whether two of three clocks speak against the server's, which stands `clocks.ahead_ms` from the caller's: the caller's
/// own, and either the last line time, which is neither later than the caller's nor much earlier, and where the server is
/// behind, later than that; or another caller, who wanted the offset `testified_ms`.
pub fn outvotes(clocks: Clocks, witness_ms: u64, last_us: u64, testified_ms: Option<i64>) -> bool {
    let last_ms = last_us / 1_000;
    let server_ms = witness_ms.saturating_add_signed(clocks.ahead_ms);
    let is_recent = last_ms <= witness_ms + APART_MS && last_ms + RECENT_MS >= witness_ms;
    let line_agrees = is_recent && (clocks.ahead_ms > 0 || last_ms > server_ms);
    let wanted_ms = clocks.offset_ms - clocks.ahead_ms;
    let other_agrees = testified_ms.is_some_and(|other_ms| other_ms.abs_diff(wanted_ms) <= APART_MS);
    line_agrees || other_agrees
}

fn difference(a: u64, b: u64) -> i64 {
    let signed = |us: u64| i64::try_from(us).unwrap_or(i64::MAX);
    signed(a) - signed(b)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW_MS: u64 = 1_788_220_800_000;
    const HOUR_MS: i64 = 3_600_000;

    fn at(server_ms: i64, last_ms: i64) -> LineTime {
        let ms = |from_now_ms| NOW_MS.saturating_add_signed(from_now_ms);
        LineTime::read(ms(server_ms) * 1_000, 0, NOW_MS, ms(last_ms) * 1_000)
    }

    proptest! {
        /// The bound that is stated: with one right clock of the two, nothing ends more than [`APART_MS`] early.
        #[test]
        fn line_time_is_not_ahead_where_one_clock_is_right(
            off_ms in -7_200_000_i64..7_200_000,
            server_is_right: bool,
            last_before_ms in 0_u64..7_200_000,
        ) {
            let wrong_ms = NOW_MS.saturating_add_signed(off_ms);
            let (server_ms, witness_ms) = if server_is_right { (NOW_MS, wrong_ms) } else { (wrong_ms, NOW_MS) };
            let last_us = (NOW_MS - last_before_ms) * 1_000;
            let time = LineTime::read(server_ms * 1_000, 0, witness_ms, last_us);
            prop_assert!(time.us >= last_us, "it never goes back");
            prop_assert!(time.ms() <= NOW_MS + APART_MS, "ahead by {}", time.ms() - NOW_MS);
            prop_assert_eq!(time.clocks.apart, off_ms.unsigned_abs() > APART_MS);
        }

        /// With the wanted offset the clocks agree again, whatever the offset was before.
        #[test]
        fn the_wanted_offset_makes_the_clocks_agree(
            server_ms in 1_000_000_000_000_u64..2_000_000_000_000,
            offset_ms in -7_200_000_i64..7_200_000,
        ) {
            let before = LineTime::read(server_ms * 1_000, offset_ms, NOW_MS, 0);
            let after = LineTime::read(server_ms * 1_000, before.clocks.wanted_offset_ms(), NOW_MS, 0);
            prop_assert!(!after.clocks.apart);
            prop_assert!(after.ms().abs_diff(NOW_MS) <= NOISE_MS);
        }
    }

    #[test]
    fn a_server_that_jumped_is_outvoted_by_the_line_and_the_witness() {
        for jump_ms in [HOUR_MS, -HOUR_MS, 6_000, -6_000] {
            // The last tick that agreed was a second ago.
            let clocks = at(jump_ms, -1_000).clocks;
            assert!(clocks.apart);
            assert!(
                outvotes(clocks, NOW_MS, (NOW_MS - 1_000) * 1_000, None),
                "{jump_ms}"
            );
        }
    }

    #[test]
    fn a_witness_alone_outvotes_nobody() {
        // The server is right, so the line took down the time that it has; the caller is behind, or ahead.
        for off_ms in [HOUR_MS, -HOUR_MS] {
            let clocks = at(off_ms, off_ms - 1_000).clocks;
            let last_us = NOW_MS.saturating_add_signed(off_ms - 1_000) * 1_000;
            assert!(!outvotes(clocks, NOW_MS, last_us, None), "{off_ms}");
            assert!(!outvotes(clocks, NOW_MS, last_us, Some(HOUR_MS / 2)), "{off_ms}");
            assert!(
                outvotes(clocks, NOW_MS, last_us, Some(2_000 - off_ms)),
                "two callers do"
            );
        }
        // Nothing was taken down for long: the line does not know.
        let clocks = at(HOUR_MS, -120_000).clocks;
        assert!(!outvotes(clocks, NOW_MS, (NOW_MS - 120_000) * 1_000, None));
    }

    #[test]
    fn noise_is_no_offset() {
        let clocks = |ahead_ms, offset_ms| Clocks {
            apart: true,
            ahead_ms,
            offset_ms,
        };
        assert_eq!(
            clocks(-HOUR_MS + 40, -HOUR_MS).wanted_offset_ms(),
            0,
            "it was put right"
        );
        assert_eq!(clocks(HOUR_MS, 0).wanted_offset_ms(), -HOUR_MS);
        assert_eq!(clocks(-6_000, -HOUR_MS).wanted_offset_ms(), -HOUR_MS + 6_000);
    }
}
