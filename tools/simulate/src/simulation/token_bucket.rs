//! A token bucket: what a part of a deployment serves per second, and at once.

/// A bucket that is refilled at a constant rate. Its level is counted in thousandths of a token, so no fraction is lost
/// within a millisecond.
#[derive(Debug, Clone, Copy)]
pub(super) struct TokenBucket {
    per_second: i64,
    size: i64,
    level: i64,
    at_ms: u64,
}

const SCALE: i64 = 1_000;

impl TokenBucket {
    /// A full bucket of this size, refilled with this many tokens per second.
    pub(super) fn new(per_second: u64, size: u64) -> Self {
        let size = to_signed(size) * SCALE;
        Self {
            per_second: to_signed(per_second),
            size,
            level: size,
            at_ms: 0,
        }
    }

    /// Whether the bucket has these tokens now.
    pub(super) fn has(&mut self, now_ms: u64, tokens: u64) -> bool {
        self.level = self.refilled_level(now_ms);
        self.at_ms = now_ms;
        self.level >= to_signed(tokens) * SCALE
    }

    /// Takes tokens, also more than there are. The bucket then owes them.
    pub(super) fn take(&mut self, now_ms: u64, tokens: u64) {
        self.level = self.refilled_level(now_ms) - to_signed(tokens) * SCALE;
        self.at_ms = now_ms;
    }

    /// Takes tokens if the bucket has them, and returns whether it had.
    pub(super) fn take_if_enough(&mut self, now_ms: u64, tokens: u64) -> bool {
        let has = self.has(now_ms, tokens);
        if has {
            self.level -= to_signed(tokens) * SCALE;
        }
        has
    }

    fn refilled_level(&self, now_ms: u64) -> i64 {
        // One second of tokens per second is one thousandth of it, times the scale, per millisecond.
        let passed_ms = to_signed(now_ms - self.at_ms);
        (self.level + passed_ms * self.per_second).min(self.size)
    }
}

fn to_signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_gives_its_rate_and_no_more() {
        let mut bucket = TokenBucket::new(100, 10);
        let mut taken = 0;
        for now_ms in 0..10_000 {
            taken += u32::from(bucket.take_if_enough(now_ms, 1));
        }
        assert_eq!(taken, 10 + 999, "the size at once, and then the rate");
    }

    #[test]
    fn a_debt_is_paid_before_the_next_token() {
        let mut bucket = TokenBucket::new(100, 10);
        bucket.take(0, 60);
        assert!(!bucket.take_if_enough(509, 1));
        assert!(bucket.take_if_enough(510, 1));
    }
}
