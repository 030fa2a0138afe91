//! The clients of visitors, and when they poll.

/// When clients poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clients {
    /// They follow `retry_after_ms`, and their polls may be held.
    Paced,
    /// They read the public document while far from the head, and follow `retry_after_ms` near it.
    Following,
    /// They poll every three seconds, whatever the answer says.
    Fixed,
}

/// The time between two polls of a fixed client, in milliseconds.
pub const FIXED_POLL_MS: u64 = 3_000;
