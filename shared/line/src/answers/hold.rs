//! About polls that are held, of all queues of a deployment together.

use vestibule_domain::id::EntryId;

/// A poll that asks to be held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HoldOrder<'a> {
    /// The deployment whose polls are counted together.
    pub deployment: &'a str,
    /// The entry that it waits for: one poll of an entry is held at a time.
    pub id: EntryId,
    /// It is held where fewer are: see [`Hold::below`](vestibule_domain::pacing::Hold::below).
    pub below: u64,
    /// In so many milliseconds it is counted out where nobody released it, since its process died:
    /// [`HOLD_LEASE_MS_MAX`](vestibule_domain::pacing::HOLD_LEASE_MS_MAX) at most.
    pub lease_ms: u64,
}

/// Whether a poll may be held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holding {
    /// It is counted in, until it is released or its lease is over.
    Counted {
        /// Polls held now, with this one.
        held: u64,
    },
    /// As many are held already as may be.
    Full,
    /// Another poll of the same entry is held already.
    AlreadyHeld,
}
