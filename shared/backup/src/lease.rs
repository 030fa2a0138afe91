//! Who puts a lost queue back: one process at a time, by a lease that stands in the backup beside the queue's epoch.
//!
//! Taking the lease is what raises the epoch. So whoever holds one knows an epoch that nobody else has, and the line lets
//! nothing in force that has a lower one than it has heard of: a restorer that was thought dead, and wakes up, writes in
//! vain. The lease only keeps two from working side by side; where the clocks of two processes part by more than it is
//! long, both work, and the later epoch still wins.

use std::time::Duration;

use uuid::Uuid;
use vestibule_clock::now_ms;

use super::LinePart;

/// How long a lease lasts without being renewed: a queue whose restorer died waits for so long.
pub const LEASE: Duration = Duration::from_secs(10);
/// The right to put a queue back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// Names this restore, and no other.
    pub holder: Uuid,
    /// When it ends by itself, by the holder's clock, in Unix milliseconds.
    pub until_ms: u64,
}

impl Lease {
    /// A lease from now on.
    pub fn new(holder: Uuid) -> Self {
        let length_ms = u64::try_from(LEASE.as_millis()).unwrap_or(u64::MAX);
        Self {
            holder,
            until_ms: now_ms().saturating_add(length_ms),
        }
    }
}

/// A lease that ends later than this from now is of a clock that is wrong: it holds nobody up. The epoch decides anyway.
pub const PLAUSIBLE_MS: u64 = 60_000;

/// The answer to taking a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leased {
    /// It is taken, and the queue's part has the new epoch.
    Taken(LinePart),
    /// Somebody else has it.
    Held(Lease),
    /// The epoch is not what it was: somebody else has put the queue back, or begun it anew.
    Overtaken,
}
