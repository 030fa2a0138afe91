//! About comparing the line with the backup.

use vestibule_domain::{
    change::{Change, End, Event},
    id::EntryId,
    record::Record,
    standing::{Spot, Standing},
    state::State,
};

/// The most entries on one page, or little more: a longer one would make everybody else wait.
pub const PAGE_ENTRIES: usize = 1_000;

/// Where a look through all entries of a queue goes on; its default is the beginning. What it holds is the line's own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cursor {
    /// Which of the sets.
    pub set: usize,
    /// How far in it.
    pub after: String,
}

/// Some of the entries of a queue, in no order. The sets move while they are read: an entry that moves meanwhile may be
/// on two pages or on none, one that stays is on at least one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    /// Who stands where. Those whose deadline has come are among them until they are dropped.
    pub spots: Vec<(EntryId, Spot)>,
    /// Ends that the backup may not have.
    pub ends: Vec<Change>,
    /// Where the next page begins; `None` after the last one.
    pub next: Option<Cursor>,
}

/// An entry of which the line and the backup say different things.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mending {
    /// Whose.
    pub id: EntryId,
    /// Where it was seen: what moved since then is left alone. Of a ready one the deadline may also be that of the wall, as
    /// callers see it.
    pub seen: Spot,
    /// The generation that the record is of.
    pub generation: u32,
    /// What the backup shows of it.
    pub record: Option<Record>,
}

/// What a record makes of an entry that stands elsewhere in the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amends {
    /// It is over, in this way.
    Ends(End),
    /// The visit that stands is further along by the record, or its session longer.
    GoesOn(Event),
    /// Nothing: the line knows better, or of another visit.
    Stays,
}

impl Mending {
    /// What the record makes of this entry. Of one visit the state that is further along counts, and of two ends of a
    /// session the later one: a visit never goes back. A session that it makes go on may be over by the line's clock.
    pub fn amends(&self) -> Amends {
        let Some(record) = &self.record else {
            return Amends::Stays;
        };
        let place = match self.seen {
            Spot::Waiting(score) => Some(score),
            Spot::Ready(_) | Spot::Active(_) => None,
        };
        let places = place.zip(record.score);
        if let Some(how) = record.end() {
            let is_over = match place {
                // Whoever has a place before the one that the end is of had it before that end.
                Some(seen) => {
                    record.is_end_of_place(seen) || places.is_some_and(|(seen, known)| seen < known)
                }
                None => record.visit == self.seen.visit(),
            };
            return if is_over { Amends::Ends(how) } else { Amends::Stays };
        }
        let is_same = places.map_or(record.visit == self.seen.visit(), |(seen, known)| seen == known);
        let is_longer = match (self.seen, record.expires_at_ms) {
            (Spot::Active(end), Some(end_ms)) => record.state == State::Active && end_ms > end.deadline_ms(),
            _ => false,
        };
        if !is_same || !(is_longer || record.state.is_further_than(self.seen.state())) {
            return Amends::Stays;
        }
        match (record.state, record.expires_at_ms) {
            (State::Active, Some(session_end_ms)) => Amends::GoesOn(Event::Claimed {
                visit: record.visit,
                session_end_ms,
            }),
            (State::Ready, Some(claim_by_ms)) => Amends::GoesOn(Event::StillReady {
                visit: record.visit,
                claim_by_ms,
            }),
            _ => Amends::Stays,
        }
    }
}

/// What became of an entry of which the two said different things.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mended {
    /// It has a place.
    Here {
        /// Where it stands.
        standing: Standing,
        /// What to write: later than what the backup has.
        change: Change,
        /// Whether the backup knew it further along, and the line took that over.
        moved_on: bool,
    },
    /// It was over, and left the line: what to write.
    Ended(Change),
    /// It stands elsewhere by now: nothing changed.
    Moved,
    /// The record is of another generation, or of a later epoch than the line: nothing changed.
    Refused,
}

impl Mended {
    /// The event that says where an entry stands.
    pub fn says(standing: &Standing) -> Event {
        match *standing {
            Standing::Waiting { score, .. } => Event::Entered { score },
            Standing::Ready {
                visit, claim_by_ms, ..
            } => Event::StillReady { visit, claim_by_ms },
            Standing::Active {
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

/// How often a queue is checked, whoever asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckOrder {
    /// Milliseconds from the end of one check to the next.
    pub every_ms: u64,
    /// The same for a queue where nothing happened since the last one began.
    pub idle_ms: u64,
    /// A check that was begun is taken over when nothing was heard of it for so long, in milliseconds.
    pub silent_ms: u64,
}

/// The answer to asking for a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckTurn {
    /// It is the caller's, beginning with this shard.
    Due {
        /// The first one that no check has been through.
        from_shard: u8,
    },
    /// It is another's, or too early.
    Early {
        /// Ask again in so many milliseconds.
        due_in_ms: u64,
    },
}
