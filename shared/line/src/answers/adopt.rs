//! Inputs and results of [`Line::adopt`](crate::Line::adopt), which brings one
//! entry of the line into agreement with its record in the backup.

use vestibule_domain::{
    change::Change,
    entry_status::EntryStatus,
    id::EntryId,
    record::EntryRecord,
    score::{Visit, WaitScore},
};

/// The line refuses to adopt an entry that it did not know longer ago than this, in milliseconds.
/// It is shorter than [`SETTLED_END_KEPT_MS`], so an end that the caller's record lacks is still
/// known.
pub const ADOPT_WITHIN_MS: u64 = 5_000;

/// How long the line keeps an end after the backup has it, in milliseconds.
pub const SETTLED_END_KEPT_MS: u64 = 10_000;

/// The order to compare one entry of the line with its record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdoptOrder {
    /// The entry.
    pub id: EntryId,
    /// The generation of the record.
    pub generation: u32,
    /// The record; `None` if the backup has none.
    pub record: Option<EntryRecord>,
    /// What the caller knows of the entry in the line.
    pub basis: AdoptBasis,
}

/// What the caller of [`Line::adopt`](crate::Line::adopt) knows of the entry in the
/// line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdoptBasis {
    /// The line had the entry, or an end of it.
    Known,
    /// The line did not know the entry at this line time, in Unix milliseconds, and the caller read
    /// the record afterwards.
    UnknownAt(u64),
    /// [`Line::enter`](crate::Line::enter) gave the entry this provisional place, and the
    /// backup refused it.
    Provisional {
        /// The place that `enter` gave.
        place: WaitScore,
        /// How long a visitor who missed the turn may come back to the old place, in seconds.
        grace_seconds: u32,
    },
}

/// The answer to [`Line::adopt`](crate::Line::adopt).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AdoptOutcome {
    /// The entry is live in the line.
    Live {
        /// The status of the entry now.
        status: EntryStatus,
        /// The change to write; `None` if the backup has it already.
        change: Option<Change>,
        /// Whether the line took the entry over from the record.
        has_adopted: bool,
    },
    /// The entry has ended.
    Ended {
        /// The end to write; `None` if the backup has it already.
        change: Option<Change>,
        /// Whether the line had the entry as live, and removed it.
        has_removed: bool,
    },
    /// The provisional place stands: no earlier visit goes on. The caller writes it again with `after`.
    Stands {
        /// The latest visit that is known to be over; `None` if there is none.
        after: Option<Visit>,
    },
    /// The line dropped the provisional place, because a later visit of the entry is over. The
    /// visitor has to be given a new place, whose number is above that visit.
    EnterAgain,
    /// The caller's knowledge is too old, or the record is of another generation or of a later
    /// epoch than the line. Nothing changed.
    Rejected,
    /// The visit of the record began more than a minute later than the server's clock and the
    /// caller's show. Nothing changed.
    FromTheFuture,
}
