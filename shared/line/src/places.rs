//! What a restore puts back: the same for every line.

use vestibule_domain::{
    id::EntryId,
    record::Record,
    score::{DeadlineScore, Visit, WaitScore},
    state::State,
};

/// The places of a restore, by where they go: 32 bytes each, since there may be a million of them.
#[derive(Debug, Default)]
pub struct Places {
    /// The waiting entries and their places.
    pub waiting: Vec<(WaitScore, EntryId)>,
    /// The ready entries and the numbers of their visits.
    pub ready: Vec<(Visit, EntryId)>,
    /// The active entries and the ends of their sessions.
    pub active: Vec<(DeadlineScore, EntryId)>,
    /// The highest order among them: arrivals go on from it.
    pub last_order: u64,
    /// The highest version among them: changes go on from it.
    pub v: u64,
}

impl Places {
    /// Adds what a record shows: waiting at its place, ready with a deadline yet to be set, since whoever was called could
    /// not answer while the line was away, active until its end. One that is gone is passed over.
    pub fn add(&mut self, record: &Record) {
        self.v = self.v.max(record.version.v);
        self.last_order = self.last_order.max(record.score.map_or(0, WaitScore::order));
        match (record.state, record.score, record.expires_at_ms) {
            (State::Waiting, Some(score), _) => self.waiting.push((score, record.id)),
            (State::Ready, ..) => self.ready.push((record.visit, record.id)),
            (State::Active, _, Some(end_ms)) => {
                self.active
                    .push((DeadlineScore::new(end_ms, record.visit), record.id));
            }
            _ => {}
        }
    }

    /// In line.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Promoted and not yet claimed.
    pub fn ready(&self) -> usize {
        self.ready.len()
    }

    /// Let in.
    pub fn active(&self) -> usize {
        self.active.len()
    }
}

impl<'a> FromIterator<&'a Record> for Places {
    fn from_iter<T: IntoIterator<Item = &'a Record>>(records: T) -> Self {
        let mut places = Self::default();
        for record in records {
            places.add(record);
        }
        places
    }
}
