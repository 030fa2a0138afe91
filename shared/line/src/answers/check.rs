//! Inputs and results of the consistency check, which compares the line with the backup.

use vestibule_domain::{change::Change, entry_status::StoredEntry, fact::Fact, id::EntryId};

/// The approximate maximum number of entries on one page. A longer page would delay every other
/// caller, because the line runs one call at a time.
pub const PAGE_ENTRIES: usize = 1_000;

/// The position in an iteration over all entries of a queue. The default is the beginning. Only the
/// line interprets the contents.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cursor {
    /// The index of the set that the iteration has reached.
    pub set: usize,
    /// The position within that set.
    pub after: String,
}

/// Some of the entries of a queue, in no particular order.
///
/// The sets change during the iteration. An entry that moves between sets meanwhile may be on two
/// pages or on none. An entry that does not move is on at least one page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    /// The entries of this page as the line stores them. They include entries whose deadline has
    /// passed and that no promotion has dropped yet.
    pub entries: Vec<(EntryId, StoredEntry)>,
    /// Entries whose slot is held. A promotion frees those whose time has passed.
    pub held: Vec<(EntryId, Fact)>,
    /// Ends that the backup may not have yet.
    pub ends: Vec<Change>,
    /// Where the next page begins; `None` after the last one.
    pub next: Option<Cursor>,
}

/// When a consistency check of a queue is due. The limits hold for all callers together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckOrder {
    /// The time from the end of one check to the start of the next, in milliseconds.
    pub every_ms: u64,
    /// The same for a queue without changes since its last check began, in milliseconds.
    pub idle_ms: u64,
    /// The least time from the start of one check that is due for a loss to the next such start, in
    /// milliseconds.
    pub loss_ms: u64,
    /// Another caller takes over a running check that has not reported progress for this long, in
    /// milliseconds.
    pub silent_ms: u64,
}

/// The answer to [`Line::take_check`](crate::Line::take_check).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckAssignment {
    /// The caller gets the check, beginning with this shard.
    Due {
        /// The first shard that the check has not covered.
        from_shard: u8,
    },
    /// Another caller is running the check, or the check is not due yet.
    NotDue {
        /// Ask again after this many milliseconds.
        due_in_ms: u64,
    },
}
