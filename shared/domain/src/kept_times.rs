//! What earlier settings have given out, and later, shorter ones must still honour.

use std::{fmt, str::FromStr};

use super::settings::Settings;

/// How long a process may go on with earlier settings, in milliseconds.
const SETTINGS_SPREAD_MS: u64 = 2_000;

/// Times of earlier settings that still hold. The line remembers them while it runs, see `configure.lua`; the backup keeps
/// them for a line that lost its data. Times are Unix milliseconds, and 0 stands for none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KeptTimes {
    /// Until when a pass may be valid that was issued before passes became shorter.
    pub passes_until_ms: u64,
    /// The longest claim time that clients may still reckon with when they choose the time of the next poll, in
    /// milliseconds.
    pub claim_floor_ms: u64,
    /// Until when they may.
    pub claim_floor_until_ms: u64,
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
        kept
    }
}

/// The text is not that of kept times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be three numbers of milliseconds")]
pub struct KeptTimesError;

/// `passes_until_ms claim_floor_ms claim_floor_until_ms`. `new_state.lua` reads it, too.
impl fmt::Display for KeptTimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            passes_until_ms,
            claim_floor_ms,
            claim_floor_until_ms,
        } = self;
        write!(f, "{passes_until_ms} {claim_floor_ms} {claim_floor_until_ms}")
    }
}

impl FromStr for KeptTimes {
    type Err = KeptTimesError;

    fn from_str(text: &str) -> Result<Self, KeptTimesError> {
        let numbers: Result<Vec<u64>, _> = text.split(' ').map(str::parse).collect();
        match numbers.as_deref() {
            Ok(&[passes_until_ms, claim_floor_ms, claim_floor_until_ms]) => Ok(Self {
                passes_until_ms,
                claim_floor_ms,
                claim_floor_until_ms,
            }),
            _ => Err(KeptTimesError),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn other_texts_are_no_kept_times() {
        for text in ["", "1 2", "1 2 3 4", "1 2 x", "-1 2 3"] {
            assert_eq!(text.parse::<KeptTimes>(), Err(KeptTimesError), "{text}");
        }
    }
}
