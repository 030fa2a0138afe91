//! A limit for lines of the log that a fault would write for each visitor.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::clock::now_ms;

/// The time between two lines, in milliseconds.
const PAUSE_MS: u64 = 1_000;

/// Lets one line through each second, and counts those that it leaves out.
#[derive(Debug)]
pub struct LineLimit {
    written_at_ms: AtomicU64,
    left_out: AtomicU64,
}

impl LineLimit {
    /// A limit for the lines of one place in the code.
    pub const fn new() -> Self {
        Self {
            written_at_ms: AtomicU64::new(0),
            left_out: AtomicU64::new(0),
        }
    }

    /// How many lines were left out since the last one, if a line may be written now.
    pub fn admit(&self) -> Option<u64> {
        self.admit_at(now_ms())
    }

    fn admit_at(&self, now_ms: u64) -> Option<u64> {
        let written_at_ms = self.written_at_ms.load(Ordering::Relaxed);
        // A clock that was set back lets the next line through.
        let is_due = now_ms.abs_diff(written_at_ms) >= PAUSE_MS;
        let takes_turn = || {
            let replaced = self.written_at_ms.compare_exchange(
                written_at_ms,
                now_ms,
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
            replaced.is_ok()
        };
        if is_due && takes_turn() {
            return Some(self.left_out.swap(0, Ordering::Relaxed));
        }
        self.left_out.fetch_add(1, Ordering::Relaxed);
        None
    }
}

impl Default for LineLimit {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_a_second_says_how_many_were_left_out() {
        let limit = LineLimit::new();
        let admitted = [5_000, 5_001, 5_999, 6_000, 4_000, 5_500].map(|now_ms| limit.admit_at(now_ms));
        assert_eq!(admitted, [Some(0), None, None, Some(2), Some(0), Some(0)]);
    }
}
