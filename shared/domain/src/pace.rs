//! The pace bucket, and the number of entries that one promotion moves.
//!
//! The bucket is a token bucket ("leaky bucket as a meter", ITU-T I.371) that uses whole numbers
//! only. Its level is counted in *credit*: entries times milliseconds of an interval. So no
//! fraction is ever rounded. The scripts of the line keep the bucket; this code tells its readers the level between two
//! ticks.

/// The pace of a queue: at most one `batch` at once, and one `batch` per interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// Entries per interval.
    pub batch: u64,
    /// The length of an interval, in milliseconds.
    pub interval_ms: u64,
}

impl Pace {
    /// The credit of a full bucket.
    pub fn full_credit(self) -> u64 {
        self.batch * self.interval_ms
    }
}

/// The level of a pace bucket at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PaceBucket {
    /// The level, in entries times milliseconds.
    pub credit: u64,
    /// The moment of this level, in Unix milliseconds.
    pub at_ms: u64,
}

impl PaceBucket {
    /// The bucket at a later moment. It never holds more than one batch, however long the promoter
    /// was down.
    #[must_use]
    pub fn refill(self, pace: Pace, now_ms: u64) -> Self {
        // One interval fills an empty bucket, so a longer gap counts as one interval. This also
        // keeps the product small.
        let elapsed_ms = now_ms.saturating_sub(self.at_ms).min(pace.interval_ms);
        Self {
            credit: (self.credit + elapsed_ms * pace.batch).min(pace.full_credit()),
            at_ms: now_ms.max(self.at_ms),
        }
    }

    /// The bucket at a later moment. It refilled at the pace `from`, and now the pace `to` is in force.
    #[must_use]
    pub fn refill_to_pace(self, from: Pace, to: Pace, now_ms: u64) -> Self {
        self.refill(from, now_ms).convert_to_pace(from, to)
    }

    /// The number of entries that may be promoted.
    pub fn tokens(self, pace: Pace) -> u64 {
        self.credit / pace.interval_ms
    }

    /// The bucket after the pace changed. Whole tokens are kept, up to the new batch. If the
    /// interval changes, a partial token is dropped, because its unit changes.
    #[must_use]
    pub fn convert_to_pace(self, from: Pace, to: Pace) -> Self {
        let credit = if from.interval_ms == to.interval_ms {
            self.credit
        } else {
            self.tokens(from) * to.interval_ms
        };
        Self {
            credit: credit.min(to.full_credit()),
            ..self
        }
    }
}

/// What limited the number of entries that a promotion moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum LimitedBy {
    /// No more entries are waiting.
    Line,
    /// All who could be promoted were. The next in line were called lately and have not checked in.
    Presence,
    /// Ready and active entries fill the capacity.
    Capacity,
    /// The pace bucket has no token left.
    Pace,
    /// The caller asked for no more entries, or one call does not move more.
    Requested,
    /// The protected service is not healthy, or has not reported its load for too long.
    Service,
    /// The queue is paused, closed or finished, or has not opened yet.
    Switch,
    /// The journal is full because the backup is far behind.
    Journal,
    /// The server's clock and the caller's differ too much to be trusted.
    Clock,
}

impl LimitedBy {
    const ALL: [Self; 9] = [
        Self::Line,
        Self::Presence,
        Self::Capacity,
        Self::Pace,
        Self::Requested,
        Self::Service,
        Self::Switch,
        Self::Journal,
        Self::Clock,
    ];

    /// The word for this limit in Redis and in answers.
    pub fn name(self) -> &'static str {
        match self {
            Self::Line => "line",
            Self::Presence => "presence",
            Self::Capacity => "capacity",
            Self::Pace => "pace",
            Self::Requested => "requested",
            Self::Service => "service",
            Self::Switch => "switch",
            Self::Journal => "journal",
            Self::Clock => "clock",
        }
    }

    /// The limit with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|limit| limit.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn paces() -> impl Strategy<Value = Pace> {
        (1u64..=1_000_000, 1u64..=3_600).prop_map(|(batch, seconds)| Pace {
            batch,
            interval_ms: seconds * 1_000,
        })
    }

    proptest! {
        #[test]
        fn a_changed_pace_creates_no_tokens(from in paces(), to in paces(), credit in 0u64..u64::MAX) {
            let before = PaceBucket { credit: credit % (from.full_credit() + 1), at_ms: 0 };
            let after = before.convert_to_pace(from, to);
            prop_assert!(after.tokens(to) <= before.tokens(from).min(to.batch));
        }

        #[test]
        fn a_clock_that_goes_back_creates_no_tokens(pace in paces(), back_ms in 1u64..1_000_000) {
            let bucket = PaceBucket { credit: 0, at_ms: 1_000_000 };
            prop_assert_eq!(bucket.refill(pace, 1_000_000 - back_ms), bucket);
        }

        /// Redis scripts handle credit as a double.
        #[test]
        fn credit_stays_exact_in_a_double(pace in paces()) {
            prop_assert!(pace.full_credit() * 2 < 1 << 53);
        }
    }
}
