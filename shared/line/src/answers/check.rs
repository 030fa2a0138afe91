//! Inputs and results of the consistency check, which compares the line with the backup.

use vestibule_domain::{
    change::{Change, EndReason, Event},
    entry_status::{EntryStatus, StoredPosition},
    id::EntryId,
    record::EntryRecord,
    state::EntryState,
};

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
    /// The entries of this page with their stored positions. They include entries whose deadline
    /// has passed and that no promotion has dropped yet.
    pub positions: Vec<(EntryId, StoredPosition)>,
    /// Ends that the backup may not have yet.
    pub ends: Vec<Change>,
    /// Where the next page begins; `None` after the last one.
    pub next: Option<Cursor>,
}

/// The order to repair one entry, for which the line and the backup differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepairOrder {
    /// The entry.
    pub id: EntryId,
    /// The position that the caller observed in the line. The line repairs the entry only if it is
    /// still there. For a ready entry, the deadline may be that of the claim clock, as stored, or
    /// wall time, as callers see it.
    pub observed: StoredPosition,
    /// The generation of the record.
    pub generation: u32,
    /// The record of the entry in the backup, if there is one.
    pub record: Option<EntryRecord>,
}

/// What the line does with the entry according to the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RepairAction {
    /// The visit has ended in this way: drop the entry.
    Drop(EndReason),
    /// The record shows a later state of the same visit, or a longer session: adopt it.
    Adopt(Event),
    /// Keep the entry: the line has the later state, or the record is of another visit.
    Keep,
}

impl RepairOrder {
    /// Decides what the record means for this entry.
    ///
    /// Within one visit the later state wins, and of two session ends the later one wins, because a
    /// visit never goes back. A session that the record extends may already have ended by the
    /// line's clock.
    pub fn choose_action(&self) -> RepairAction {
        let Some(record) = &self.record else {
            return RepairAction::Keep;
        };
        let place = match self.observed {
            StoredPosition::Waiting(score) => Some(score),
            StoredPosition::Ready(_) | StoredPosition::Active(_) => None,
        };
        let places = place.zip(record.score);
        if let Some(how) = record.end_reason() {
            let is_over = match place {
                // The entry got a place below that of the ended visit before that visit ended, so
                // this place is no longer valid either.
                Some(seen) => {
                    record.is_end_of_place(seen) || places.is_some_and(|(seen, known)| seen < known)
                }
                None => record.visit == self.observed.visit(),
            };
            return if is_over {
                RepairAction::Drop(how)
            } else {
                RepairAction::Keep
            };
        }
        let is_same = places.map_or(record.visit == self.observed.visit(), |(seen, known)| {
            seen == known
        });
        let is_longer = match (self.observed, record.expires_at_ms) {
            (StoredPosition::Active(end), Some(end_ms)) => {
                record.state == EntryState::Active && end_ms > end.deadline_ms()
            }
            _ => false,
        };
        if !is_same || !(is_longer || record.state.is_later_than(self.observed.state())) {
            return RepairAction::Keep;
        }
        match (record.state, record.expires_at_ms) {
            (EntryState::Active, Some(session_end_ms)) => RepairAction::Adopt(Event::Claimed {
                visit: record.visit,
                session_end_ms,
            }),
            (EntryState::Ready, Some(claim_by_ms)) => RepairAction::Adopt(Event::StillReady {
                visit: record.visit,
                claim_by_ms,
            }),
            _ => RepairAction::Keep,
        }
    }
}

/// The answer to [`Line::repair`](crate::RecoveryLine::repair).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RepairOutcome {
    /// The entry is in the line.
    Live {
        /// The status of the entry.
        status: EntryStatus,
        /// The change to write. Its version is above that of the backup.
        change: Change,
        /// Whether the line adopted a later state from the backup.
        has_adopted: bool,
    },
    /// The visit had ended, and the line dropped the entry. This is the change to write.
    Ended(Change),
    /// The entry is no longer at the position that the caller observed. Nothing changed.
    Moved,
    /// The record has another generation, or a later epoch than the line. Nothing changed.
    Rejected,
}

impl RepairOutcome {
    /// Returns the event that states the status of the entry.
    pub fn status_event(status: &EntryStatus) -> Event {
        match *status {
            EntryStatus::Waiting { score, .. } => Event::Entered { score },
            EntryStatus::Ready {
                visit, claim_by_ms, ..
            } => Event::StillReady { visit, claim_by_ms },
            EntryStatus::Active {
                visit,
                session_end_ms,
                ..
            } => Event::Claimed {
                visit,
                session_end_ms,
            },
        }
    }
}

/// When a consistency check of a queue is due. The limits hold for all callers together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckOrder {
    /// The time from the end of one check to the start of the next, in milliseconds.
    pub every_ms: u64,
    /// The same for a queue without changes since its last check began, in milliseconds.
    pub idle_ms: u64,
    /// Another caller takes over a running check that has not reported progress for this long, in
    /// milliseconds.
    pub silent_ms: u64,
}

/// The answer to [`Line::take_check`](crate::RecoveryLine::take_check).
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
