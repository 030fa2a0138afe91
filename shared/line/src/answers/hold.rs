//! Held polls. All queues of a deployment share one count.

use vestibule_domain::id::EntryId;

/// A request to hold one poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HoldOrder<'a> {
    /// The deployment. All its held polls count together.
    pub deployment: &'a str,
    /// The entry that the poll waits for. Only one poll of an entry is held at a time.
    pub id: EntryId,
    /// The line holds the poll only if it holds fewer polls than this. See
    /// [`Hold::held_polls_limit`](vestibule_domain::poll_pacing::Hold::held_polls_limit).
    pub below: u64,
    /// If the speed of the line is not known, the line also has to hold fewer polls of such lines than this. See
    /// [`Hold::unknown_speed_limit`](vestibule_domain::poll_pacing::Hold::unknown_speed_limit).
    pub unknown_speed_below: Option<u64>,
    /// The lease of the hold, in milliseconds;
    /// [`HOLD_LEASE_MAX_MS`](vestibule_domain::poll_pacing::HOLD_LEASE_MAX_MS) at most. When it
    /// ends, the poll no longer counts. This covers a process that died before it released the
    /// poll.
    pub lease_ms: u64,
}

/// The answer to [`Line::take_hold`](crate::Line::take_hold).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HoldOutcome {
    /// The line counts the poll until the caller releases it or the lease ends.
    Counted {
        /// The number of held polls, including this one.
        held: u64,
    },
    /// The deployment already holds the maximum number of polls.
    Full,
    /// Another poll of the same entry is already held.
    AlreadyHeld,
}
