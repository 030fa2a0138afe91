//! The pace bucket of one queue in memory, whose pace may follow the load.

use vestibule_domain::{adaptive_pace::PaceInForce, pace::PaceBucket};

use super::queue::Queue;

impl Queue {
    /// The pace in force, and the pace bucket at `now_ms`, in Unix milliseconds of line time.
    pub(super) fn refilled_bucket(&self, now_ms: u64) -> (PaceInForce, PaceBucket) {
        let in_force = self.settings().pace_in_force(self.load, now_ms);
        let bucket = self
            .bucket
            .refill_to_pace(self.bucket_pace, in_force.pace, now_ms);
        (in_force, bucket)
    }

    /// Stores the bucket after a tick promoted so many, if that or another pace has changed it. In the mode `passthrough`
    /// a promotion spends nothing.
    pub(super) fn spend_promoted(&mut self, bucket: (PaceInForce, PaceBucket), promoted: u64) {
        let spent = if self.settings().is_passthrough() {
            0
        } else {
            promoted
        };
        if spent > 0 || bucket.0.pace != self.bucket_pace {
            self.spend(bucket, spent);
        }
    }

    /// Stores the bucket after `entries` were promoted.
    pub(super) fn spend(&mut self, (in_force, bucket): (PaceInForce, PaceBucket), entries: u64) {
        self.bucket = bucket.spend(in_force.pace, entries);
        self.bucket_pace = in_force.pace;
    }
}
