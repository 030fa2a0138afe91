//! Inputs and results of what an operator does with one waiting entry.

use vestibule_domain::{change::Change, entry_status::EntryStatus, id::EntryId, lane::Lane, pace::LimitedBy};

use super::NotFound;

/// The answer to [`Line::move_to_lane`](crate::Line::move_to_lane).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LaneMoveOutcome {
    /// The entry waits in the new lane. The caller writes the change to the backup.
    Moved {
        /// The lane in which the entry was.
        from: Lane,
        /// The new place, with the position in the lane.
        status: EntryStatus,
        /// The change to write.
        change: Change,
    },
    /// The entry was in this lane already. Its position is that in the lane.
    Unchanged(EntryStatus),
    /// The entry was promoted, so it has no lane any more.
    NotWaiting(EntryStatus),
    /// The line does not have the entry.
    NotFound(NotFound),
}

/// Which entry to promote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PromoteEntryOrder {
    /// The entry.
    pub id: EntryId,
    /// Whether to go beyond the pace. Such a promotion takes no token.
    pub over_pace: bool,
}

/// The answer to [`Line::promote_entry`](crate::Line::promote_entry).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryPromotionOutcome {
    /// The entry is ready. The caller writes the change to the backup.
    Promoted {
        /// The status of the entry.
        status: EntryStatus,
        /// The change to write.
        change: Change,
    },
    /// Nothing changed, for this reason: [`Switch`](LimitedBy::Switch), [`Capacity`](LimitedBy::Capacity),
    /// [`Pace`](LimitedBy::Pace) or [`Clock`](LimitedBy::Clock).
    Limited(LimitedBy),
    /// The entry was promoted before.
    NotWaiting(EntryStatus),
    /// The line does not have the entry.
    NotFound(NotFound),
}
