//! The restore lease: one process at a time restores a lost queue. Taking the lease raises the
//! epoch of the queue, which is the fencing token of the restore.

use std::time::Duration;

use uuid::Uuid;
use vestibule_telemetry::clock::now_ms;

/// How long a lease lasts without a renewal. If the restoring process dies, the queue waits this long.
pub const LEASE_DURATION: Duration = Duration::from_secs(10);

/// The right to restore a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// Identifies one run of a restore.
    pub holder: Uuid,
    /// When the lease expires, by the holder's clock, in Unix milliseconds.
    pub until_ms: u64,
}

impl Lease {
    /// A lease that begins now and lasts [`LEASE_DURATION`].
    pub fn new(holder: Uuid) -> Self {
        let length_ms = u64::try_from(LEASE_DURATION.as_millis()).unwrap_or(u64::MAX);
        Self {
            holder,
            until_ms: now_ms().saturating_add(length_ms),
        }
    }

    /// Whether the lease counts at a time, in Unix milliseconds: it has not expired, and lasts no
    /// longer than [`LEASE_PLAUSIBLE_MAX_MS`].
    #[must_use]
    pub fn is_valid_at(self, now_ms: u64) -> bool {
        (now_ms + 1..=now_ms.saturating_add(LEASE_PLAUSIBLE_MAX_MS)).contains(&self.until_ms)
    }
}

/// The longest lease that counts, in milliseconds. A lease that expires later than this from now
/// comes from a clock that is wrong, so it blocks no other process. That is safe, because the epoch
/// decides.
pub const LEASE_PLAUSIBLE_MAX_MS: u64 = 60_000;
