//! A histogram of durations, of waits or of stays, with log-spaced buckets, as in [`HdrHistogram`](https://hdrhistogram.github.io/HdrHistogram/): each
//! power of two is divided into 16 buckets of the same width. So a bucket is at most a sixteenth of its lower bound wide,
//! and its middle differs by at most 1/32 from each duration in it. The arithmetic needs no logarithm, so that Redis
//! (`include/tally.lua`) and this file find the same bucket for each duration.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// How many buckets divide a power of two, as a power of two.
const SUB_BUCKET_BITS: u32 = 4;
const SUB_BUCKETS: u64 = 1 << SUB_BUCKET_BITS;

/// How far a percentile may be off, in hundredths of a percent: half the width of a bucket, 1/32.
pub const RELATIVE_ERROR_PER_10000: u32 = 313;

/// Counts durations by their length.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Histogram {
    /// How many durations are in each bucket, by its number.
    buckets: BTreeMap<u16, u64>,
    /// The sum of all durations, in milliseconds.
    sum_ms: u64,
    /// The longest duration, in milliseconds.
    max_ms: u64,
}

/// One bucket with its bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct HistogramBucket {
    /// The shortest duration that belongs to the bucket, in milliseconds.
    pub from_ms: u64,
    /// The shortest duration that belongs to a later bucket, in milliseconds.
    pub below_ms: u64,
    /// How many durations are in the bucket.
    pub count: u64,
}

impl Histogram {
    /// A histogram of these counts by the numbers of the buckets.
    pub fn from_counts(buckets: BTreeMap<u16, u64>, sum_ms: u64, max_ms: u64) -> Self {
        Self {
            buckets,
            sum_ms,
            max_ms,
        }
    }

    /// The counts by the numbers of the buckets.
    pub fn counts(&self) -> impl Iterator<Item = (u16, u64)> {
        self.buckets.iter().map(|(number, count)| (*number, *count))
    }

    /// The sum of all durations, in milliseconds.
    pub fn sum_ms(&self) -> u64 {
        self.sum_ms
    }

    /// The longest duration, in milliseconds.
    pub fn max_ms(&self) -> u64 {
        self.max_ms
    }

    /// Records one duration, in milliseconds.
    pub fn record(&mut self, duration_ms: u64) {
        *self.buckets.entry(bucket_number(duration_ms)).or_default() += 1;
        self.sum_ms += duration_ms;
        self.max_ms = self.max_ms.max(duration_ms);
    }

    /// How many durations were recorded.
    pub fn count(&self) -> u64 {
        self.buckets.values().sum()
    }

    /// The mean duration, in milliseconds. `None` if none was recorded.
    pub fn mean_ms(&self) -> Option<u64> {
        self.sum_ms.checked_div(self.count())
    }

    /// The duration that this share of all does not exceed, in milliseconds: the middle of its bucket, and at most the
    /// longest one. `None` if none was recorded.
    pub fn percentile_ms(&self, percent: u64) -> Option<u64> {
        let rank = (self.count() * percent).div_ceil(100).max(1);
        let mut counted = 0;
        for (number, count) in &self.buckets {
            counted += count;
            if counted >= rank {
                let (from_ms, below_ms) = bucket_bounds(*number);
                return Some((from_ms + (below_ms - from_ms) / 2).min(self.max_ms));
            }
        }
        None
    }

    /// The buckets that are not empty, the shortest first.
    pub fn buckets(&self) -> impl Iterator<Item = HistogramBucket> {
        self.buckets.iter().map(|(number, count)| {
            let (from_ms, below_ms) = bucket_bounds(*number);
            HistogramBucket {
                from_ms,
                below_ms,
                count: *count,
            }
        })
    }
}

/// The number of the bucket of a duration: 16 times the number of bits, and the four bits behind the first one.
fn bucket_number(duration_ms: u64) -> u16 {
    if duration_ms == 0 {
        return 0;
    }
    let bits = u64::BITS - duration_ms.leading_zeros();
    let first_five = if bits > SUB_BUCKET_BITS {
        duration_ms >> (bits - SUB_BUCKET_BITS - 1)
    } else {
        duration_ms << (SUB_BUCKET_BITS + 1 - bits)
    };
    let number = u64::from(bits) * SUB_BUCKETS + first_five - SUB_BUCKETS;
    u16::try_from(number).expect("at most 64 bits times 16, and less than 16")
}

/// The bounds of a bucket, in milliseconds: its shortest duration, and the shortest one of a later bucket.
fn bucket_bounds(number: u16) -> (u64, u64) {
    let bits = u32::from(number) >> SUB_BUCKET_BITS;
    if bits == 0 {
        return (0, 1);
    }
    let first_five = SUB_BUCKETS + u64::from(number) % SUB_BUCKETS;
    let Some(shift) = bits.checked_sub(SUB_BUCKET_BITS + 1) else {
        // A short duration has a bucket of its own.
        let duration_ms = first_five >> (SUB_BUCKET_BITS + 1 - bits);
        return (duration_ms, duration_ms + 1);
    };
    // A number beyond 64 bits is damaged. It counts as the longest one.
    let bound = |first_bits: u64| first_bits.checked_shl(shift).unwrap_or(u64::MAX);
    (bound(first_five), bound(first_five + 1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn short_waits_have_buckets_of_their_own() {
        let mut waits = Histogram::default();
        for wait_ms in 0..32 {
            waits.record(wait_ms);
        }
        let buckets: Vec<_> = waits.buckets().collect();
        assert_eq!(buckets.len(), 32);
        for (wait_ms, bucket) in (0..).zip(buckets) {
            let HistogramBucket {
                from_ms,
                below_ms,
                count,
            } = bucket;
            assert_eq!((from_ms, below_ms, count), (wait_ms, wait_ms + 1, 1));
        }
    }

    #[test]
    fn percentiles_of_a_thousand_waits_are_within_the_error() {
        let mut waits = Histogram::default();
        for seconds in 1..=1_000 {
            waits.record(seconds * 1_000);
        }
        for (percent, exact_ms) in [(50, 500_000), (90, 900_000), (99, 990_000)] {
            let told_ms = waits.percentile_ms(percent).expect("a wait");
            let error = told_ms.abs_diff(exact_ms) * 10_000 / exact_ms;
            assert!(
                error <= RELATIVE_ERROR_PER_10000.into(),
                "p{percent} is {told_ms}"
            );
        }
        assert_eq!((waits.count(), waits.max_ms()), (1_000, 1_000_000));
        assert_eq!(waits.mean_ms(), Some(500_500));
    }

    #[test]
    fn without_a_wait_there_is_no_percentile() {
        let waits = Histogram::default();
        assert_eq!(
            (waits.percentile_ms(50), waits.mean_ms(), waits.count()),
            (None, None, 0)
        );
    }

    proptest! {
        #[test]
        fn every_wait_is_within_its_bucket(wait_ms in 0..1_u64 << 52) {
            let (from_ms, below_ms) = bucket_bounds(bucket_number(wait_ms));
            prop_assert!(from_ms <= wait_ms && wait_ms < below_ms, "{from_ms} {wait_ms} {below_ms}");
            let middle_ms = from_ms + (below_ms - from_ms) / 2;
            prop_assert!(middle_ms.abs_diff(wait_ms) * 32 <= wait_ms, "{middle_ms} {wait_ms}");
        }
    }
}
