//! What earlier settings have given out, and later, shorter ones must still honour.

use std::{fmt, str::FromStr};

use super::{fact::Fact, settings::Settings};

/// How long a process may go on with earlier settings, in milliseconds.
const SETTINGS_SPREAD_MS: u64 = 2_000;

/// Times of earlier settings that still hold. The backup keeps them. The line remembers those of passes and claims by itself
/// while it runs (`configure.lua`), and reads them here when it begins anew. Moments are Unix milliseconds, and 0 stands for
/// none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KeptTimes {
    /// Until when a pass may be valid that was issued before passes became shorter.
    pub passes_until_ms: u64,
    /// The longest claim time that clients may still reckon with when they choose the time of the next poll, in
    /// milliseconds.
    pub claim_floor_ms: u64,
    /// Until when they may.
    pub claim_floor_until_ms: u64,
    /// The longest grace that was promised before it became shorter, in seconds.
    pub grace_seconds: u32,
    /// Until when a visitor may come back within that grace.
    pub grace_until_ms: u64,
}

impl KeptTimes {
    /// The times to keep once `new` settings follow `old` ones.
    #[must_use]
    pub fn after_change(self, old: &Settings, new: &Settings, now_ms: u64) -> Self {
        let mut kept = self;
        if old.pass_seconds != new.pass_seconds {
            let old_pass_ms = old.pass_ms(u64::from(old.session_max_seconds) * 1_000);
            let until_ms = now_ms + old_pass_ms + SETTINGS_SPREAD_MS;
            kept.passes_until_ms = kept.passes_until_ms.max(until_ms);
        }
        let old_claim_ms = if now_ms < self.claim_floor_until_ms {
            self.claim_floor_ms.max(old.claim_ms())
        } else {
            old.claim_ms()
        };
        if new.claim_ms() < old_claim_ms {
            kept.claim_floor_ms = old_claim_ms;
            kept.claim_floor_until_ms = now_ms + old_claim_ms + SETTINGS_SPREAD_MS;
        }
        let old_grace_seconds = self.grace_seconds_at(old, now_ms);
        if new.grace_seconds < old_grace_seconds {
            kept.grace_seconds = old_grace_seconds;
            kept.grace_until_ms = now_ms + u64::from(old_grace_seconds) * 1_000 + SETTINGS_SPREAD_MS;
        }
        kept
    }

    /// The grace that counts for a visitor who enters at this time, in seconds.
    pub fn grace_seconds_at(&self, settings: &Settings, now_ms: u64) -> u32 {
        if now_ms <= self.grace_until_ms {
            settings.grace_seconds.max(self.grace_seconds)
        } else {
            settings.grace_seconds
        }
    }

    /// Until when a visitor of this fact may enter again at the old place, in Unix milliseconds; `None` if there is no grace.
    /// The answer does not depend on the time at which it is asked for, so it is the same before and after it was promised.
    pub fn grace_until_ms(&self, settings: &Settings, fact: Fact) -> Option<u64> {
        let kept = fact.grace_until_ms(self.grace_seconds);
        let kept = kept.map(|until_ms| until_ms.min(self.grace_until_ms));
        fact.grace_until_ms(settings.grace_seconds).max(kept)
    }
}

/// The text is not that of kept times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be five numbers")]
pub struct KeptTimesError;

/// The five numbers in their order. `new_state.lua` reads the first three, too.
impl fmt::Display for KeptTimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            passes_until_ms,
            claim_floor_ms,
            claim_floor_until_ms,
            grace_seconds,
            grace_until_ms,
        } = self;
        write!(
            f,
            "{passes_until_ms} {claim_floor_ms} {claim_floor_until_ms} {grace_seconds} {grace_until_ms}"
        )
    }
}

impl FromStr for KeptTimes {
    type Err = KeptTimesError;

    fn from_str(text: &str) -> Result<Self, KeptTimesError> {
        let numbers: Result<Vec<u64>, _> = text.split(' ').map(str::parse).collect();
        match numbers.as_deref() {
            Ok(
                &[
                    passes_until_ms,
                    claim_floor_ms,
                    claim_floor_until_ms,
                    grace_seconds,
                    grace_until_ms,
                ],
            ) => Ok(Self {
                passes_until_ms,
                claim_floor_ms,
                claim_floor_until_ms,
                grace_seconds: grace_seconds.try_into().map_err(|_| KeptTimesError)?,
                grace_until_ms,
            }),
            _ => Err(KeptTimesError),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{fact::Turn, score::Visit};

    const NOW_MS: u64 = 1_795_000_000_000;

    fn settings(pass_seconds: u32, claim_seconds: u32) -> Settings {
        Settings {
            pass_seconds,
            claim_seconds,
            session_max_seconds: 900,
            ..Settings::default()
        }
    }

    #[test]
    fn shorter_settings_keep_what_the_longer_ones_gave_out() {
        let none = KeptTimes::default();
        let long = settings(60, 60);
        assert_eq!(none.after_change(&long, &long, NOW_MS), none);
        let kept = none.after_change(&long, &settings(2, 10), NOW_MS);
        let expected = KeptTimes {
            passes_until_ms: NOW_MS + 62_000,
            claim_floor_ms: 60_000,
            claim_floor_until_ms: NOW_MS + 62_000,
            ..none
        };
        assert_eq!(kept, expected);
        assert_eq!(kept.to_string().parse(), Ok(kept));

        // A further change forgets nothing of it while it holds.
        let further = kept.after_change(&settings(2, 10), &settings(1, 5), NOW_MS + 10_000);
        let expected = KeptTimes {
            claim_floor_until_ms: NOW_MS + 72_000,
            ..expected
        };
        assert_eq!(further, expected);
        let later = kept.after_change(&settings(2, 10), &settings(2, 5), NOW_MS + 62_000);
        assert_eq!(
            (later.claim_floor_ms, later.claim_floor_until_ms),
            (10_000, NOW_MS + 74_000)
        );
    }

    #[test]
    fn a_pass_without_a_time_of_its_own_may_last_as_long_as_a_session() {
        let kept = KeptTimes::default().after_change(&settings(0, 60), &settings(60, 60), NOW_MS);
        assert_eq!(kept.passes_until_ms, NOW_MS + 902_000);
    }

    #[test]
    fn a_promised_grace_outlasts_a_shorter_one() {
        let grace = |grace_seconds| Settings {
            grace_seconds,
            ..Settings::default()
        };
        let none = KeptTimes::default();
        let visit = Visit::new(7).expect("a visit");
        let missed_at = |claim_by_ms| Fact::ready(visit, Turn::First, claim_by_ms).timed_out();
        let promised = none.grace_until_ms(&grace(600), missed_at(NOW_MS - 100_000));
        assert_eq!(promised, Some(NOW_MS + 500_000));
        let kept = none.after_change(&grace(600), &grace(0), NOW_MS);
        assert_eq!(
            kept.grace_until_ms(&grace(0), missed_at(NOW_MS - 100_000)),
            promised
        );
        assert_eq!(kept.grace_seconds_at(&grace(0), NOW_MS + 500_000), 600);
        assert_eq!(kept.to_string().parse(), Ok(kept));

        // Who misses the turn later is promised no more than the time until which the longer grace counts.
        let later = kept.grace_until_ms(&grace(60), missed_at(NOW_MS + 300_000));
        assert_eq!(later, Some(kept.grace_until_ms));
        let last = kept.grace_until_ms(&grace(60), missed_at(kept.grace_until_ms));
        assert_eq!(last, Some(kept.grace_until_ms + 60_000));
        assert_eq!(kept.grace_seconds_at(&grace(60), kept.grace_until_ms + 1), 60);
        assert_eq!(none.after_change(&grace(0), &grace(600), NOW_MS), none);
    }

    #[test]
    fn other_texts_are_no_kept_times() {
        for text in [
            "",
            "1 2 3 4",
            "1 2 3 4 5 6",
            "1 2 3 4 x",
            "-1 2 3 4 5",
            "1 2 3 4294967296 5",
        ] {
            assert_eq!(text.parse::<KeptTimes>(), Err(KeptTimesError), "{text}");
        }
    }
}
