//! Whether waiting visitors are present, and which of them an operator evicts.

use vestibule_domain::{id::EntryId, score::Visit};

pub use vestibule_domain::presence::PresenceState;

/// What the line knows of the visitor of a waiting entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitingPresence {
    /// Whether the visitor is present.
    pub state: PresenceState,
    /// Whether the visitor has checked in by a status request or a held poll since entering. A visitor who was not
    /// called yet had no reason to. While presence is off, the line does not know, and this is `true`; and so it is of an
    /// entry that the line lost and has again.
    pub has_checked_in: bool,
}

/// Which waiting entries to evict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvictOrder {
    /// The entries with their visits, at most [`EVICT_CHUNK`](crate::EVICT_CHUNK). An entry with another visit stays.
    pub visits: Vec<(EntryId, Visit)>,
    /// Whether a visitor who has [checked in](WaitingPresence::has_checked_in) stays.
    pub spares_checked_in: bool,
}
