//! What one queue in memory knows of an entry.

use vestibule_domain::{
    change::{Change, EndReason},
    entry_status::{EntryStatus, StoredEntry},
    fact::{Fact, Step, Turn},
    id::EntryId,
};
use vestibule_line::{CheckIn, EntryLookup, NotFound};

use super::queue::Queue;

/// What the queue knows of an entry.
#[derive(Debug, Clone, Copy)]
pub(super) enum Account {
    /// The entry is waiting, ready or active.
    Live(StoredEntry),
    /// The deadline of the entry has passed, and a set still holds the entry: no promotion has
    /// dropped it yet. The end has the current version of the queue, because nothing was written.
    TimedOut { end: Change, how: EndReason },
    /// The entry ended recently.
    Ended(Change),
    /// The queue knows nothing of the entry.
    Unknown,
}

impl Account {
    pub(super) fn fact(&self) -> Option<Fact> {
        match self {
            Self::Live(entry) => Some(entry.fact),
            Self::TimedOut { end, .. } | Self::Ended(end) => Some(end.fact()),
            Self::Unknown => None,
        }
    }

    /// Whether a set holds the entry.
    pub(super) fn is_in_set(&self) -> bool {
        matches!(self, Self::Live(_) | Self::TimedOut { .. })
    }
}

impl Queue {
    pub(super) fn lookup_entry(&self, now_us: u64, id: EntryId) -> EntryLookup {
        match self.find_entry(self.now_ms(now_us), id) {
            Ok(status) => EntryLookup::Found(status),
            Err(not_found) => EntryLookup::NotFound(not_found),
        }
    }

    /// The status of an entry for its visitor, who checks in by asking.
    pub(super) fn check_in_entry(&mut self, now_us: u64, id: EntryId) -> CheckIn {
        let Some(place) = self.waiting.score(id) else {
            return CheckIn {
                lookup: self.lookup_entry(now_us, id),
                lane: None,
            };
        };
        self.check_in(place, id);
        let position = self.position_in_lane(place);
        CheckIn {
            lookup: EntryLookup::Found(EntryStatus::Waiting {
                score: place,
                position,
            }),
            lane: Some(self.lane(place.lane())),
        }
    }

    /// The status of a live entry.
    ///
    /// # Errors
    /// What the queue knows of an entry that is not live.
    pub(super) fn find_entry(&self, now_ms: u64, id: EntryId) -> Result<EntryStatus, NotFound> {
        match self.account(now_ms, id) {
            Account::Live(entry) => Ok(self.entry_status(now_ms, id, entry.fact)),
            Account::TimedOut { end, .. } | Account::Ended(end) => Err(NotFound::Ended(end)),
            Account::Unknown => Err(NotFound::Unknown { at_ms: now_ms }),
        }
    }

    /// What the queue knows of an entry.
    pub(super) fn account(&self, now_ms: u64, id: EntryId) -> Account {
        let Some(entry) = self.stored_entry(now_ms, id) else {
            let end = self.ended.get(id).copied();
            return end.map_or(Account::Unknown, Account::Ended);
        };
        if entry.fact.deadline_ms().is_none_or(|at_ms| at_ms > now_ms) {
            return Account::Live(entry);
        }
        let how = if entry.fact.step == Step::Active {
            EndReason::Expired
        } else {
            EndReason::NoShow
        };
        let fact = entry.fact.timed_out();
        let end = self.build_end(now_ms, id, (fact, how));
        Account::TimedOut { end, how }
    }

    /// The entry as its set holds it, also if its deadline has passed. The deadline of a ready
    /// entry is in line time.
    pub(super) fn stored_entry(&self, now_ms: u64, id: EntryId) -> Option<StoredEntry> {
        if let Some(place) = self.waiting.score(id) {
            let fact = match self.visits.get(&id) {
                Some((visit, _)) => Fact::waiting(*visit, Turn::Second),
                None => Fact::waiting(place.visit(), Turn::First),
            };
            let fact = fact.moved(self.waiting.moved_at_ms(id));
            return Some(StoredEntry {
                fact,
                place: Some(place),
            });
        }
        let &(visit, step) = self.visits.get(&id)?;
        let step_ms = match step {
            Step::Active => self.active.deadline_ms(id)?,
            _ => self.ready.deadline_ms(id)? + now_ms - self.claim_clock_ms(now_ms),
        };
        let fact = Fact {
            visit,
            step,
            step_ms,
            is_over: false,
        };
        let place = self.fast_tracked.contains(&id).then(|| visit.place());
        Some(StoredEntry { fact, place })
    }

    /// The status of a live entry.
    pub(super) fn entry_status(&self, now_ms: u64, id: EntryId, fact: Fact) -> EntryStatus {
        let Fact { visit, step_ms, .. } = fact;
        if let Some((score, position)) = self.waiting.place_and_position(id) {
            EntryStatus::Waiting { score, position }
        } else if fact.step == Step::Active {
            EntryStatus::Active {
                visit,
                session_end_ms: step_ms,
                now_ms,
            }
        } else {
            EntryStatus::Ready {
                visit,
                claim_by_ms: step_ms,
                now_ms,
            }
        }
    }
}
