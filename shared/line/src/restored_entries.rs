//! The entries that a restore puts back into a line. Both implementations use this type.

use vestibule_domain::{
    id::EntryId,
    record::EntryRecord,
    score::{DeadlineScore, Visit, WaitScore},
    state::EntryState,
};

/// The entries of a restore, by their state. An entry takes 32 bytes, because a restore may hold a
/// million of them.
#[derive(Debug, Default)]
pub struct RestoredEntries {
    /// Waiting entries with their places.
    pub waiting: Vec<(WaitScore, EntryId)>,
    /// Ready entries with the numbers of their visits.
    pub ready: Vec<(Visit, EntryId)>,
    /// Active entries with the ends of their sessions.
    pub active: Vec<(DeadlineScore, EntryId)>,
    /// The highest order of all added records. New entries continue above it.
    pub last_order: u64,
    /// The highest version of all added records. New changes continue above it.
    pub v: u64,
}

impl RestoredEntries {
    /// Adds the entry of a record. A waiting entry keeps its place, and an active entry keeps its
    /// session end. A ready entry gets its claim deadline later, because its visitor could not
    /// claim while the line was unavailable. A record of an ended entry adds no entry.
    pub fn add(&mut self, record: &EntryRecord) {
        self.v = self.v.max(record.version.v);
        self.last_order = self.last_order.max(record.score.map_or(0, WaitScore::order));
        match (record.state, record.score, record.expires_at_ms) {
            (EntryState::Waiting, Some(score), _) => self.waiting.push((score, record.id)),
            (EntryState::Ready, ..) => self.ready.push((record.visit, record.id)),
            (EntryState::Active, _, Some(end_ms)) => {
                self.active
                    .push((DeadlineScore::new(end_ms, record.visit), record.id));
            }
            _ => {}
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
