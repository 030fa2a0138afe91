//! The entries that a restore puts back into a line. Both implementations use this type.

use vestibule_domain::{
    fact::Turn,
    id::EntryId,
    record::EntryRecord,
    score::{Visit, WaitScore},
    state::EntryState,
};

/// The entries of a restore, by their state. An entry takes 40 bytes at most, because a restore may hold a million of
/// them.
#[derive(Debug, Default)]
pub struct RestoredEntries {
    /// Waiting entries with their places.
    pub waiting: Vec<(WaitScore, EntryId)>,
    /// Those of `waiting` that wait for their second turn, with their visits.
    pub waiting_again: Vec<(Visit, EntryId)>,
    /// Ready entries with their visits and turns.
    pub ready: Vec<(Visit, Turn, EntryId)>,
    /// Active entries with their visits and the ends of their sessions, in Unix milliseconds.
    pub active: Vec<(u64, Visit, EntryId)>,
    /// The highest visit number of all added records. New entries continue above it.
    pub last_order: u64,
    /// The highest version of all added records. New changes continue above it.
    pub v: u64,
}

impl RestoredEntries {
    /// Adds the entry of a record. A waiting entry keeps its place, and an active entry keeps its session end. A
    /// ready entry gets its claim deadline later, because its visitor could not claim while the line was
    /// unavailable. A record of an ended entry adds no entry.
    pub fn add(&mut self, record: &EntryRecord) {
        let (fact, id) = (record.fact, record.id);
        self.v = self.v.max(record.version.v);
        self.last_order = self.last_order.max(fact.visit.number());
        match fact.live_state() {
            Some(EntryState::Waiting) => {
                self.waiting
                    .push((record.score.unwrap_or_else(|| fact.visit.place()), id));
                if fact.turn() == Some(Turn::Second) {
                    self.waiting_again.push((fact.visit, id));
                }
            }
            Some(EntryState::Ready) => {
                let turn = fact.turn().unwrap_or(Turn::First);
                self.ready.push((fact.visit, turn, id));
            }
            Some(_) => self.active.push((fact.step_ms, fact.visit, id)),
            None => {}
        }
    }

    /// The number of waiting entries.
    pub fn waiting_count(&self) -> usize {
        self.waiting.len()
    }

    /// The number of ready entries: promoted and not yet claimed.
    pub fn ready_count(&self) -> usize {
        self.ready.len()
    }

    /// The number of active entries.
    pub fn active_count(&self) -> usize {
        self.active.len()
    }
}

impl<'a> FromIterator<&'a EntryRecord> for RestoredEntries {
    fn from_iter<T: IntoIterator<Item = &'a EntryRecord>>(records: T) -> Self {
        let mut places = Self::default();
        for record in records {
            places.add(record);
        }
        places
    }
}
