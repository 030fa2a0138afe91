//! The entries that a restore puts back into a line. Both implementations use this type.

use vestibule_domain::{
    clock::LineTime,
    end_reason::EndReason,
    fact::{Fact, Step, Turn},
    id::{EntryId, QueueId},
    record::EntryRecord,
    score::{Visit, WaitScore},
    state::EntryState,
    tally::Tally,
};

/// The session of an active entry.
#[derive(Debug, Clone, Copy)]
pub struct RestoredSession {
    /// The visit.
    pub visit: Visit,
    /// When the session ends, in Unix milliseconds.
    pub end_ms: u64,
    /// When it began, in Unix milliseconds, if that is known.
    pub began_at_ms: Option<u64>,
}

/// The entries of a restore, by their state. A live entry takes 48 bytes at most, because a restore may
/// hold a million of them.
#[derive(Debug, Default)]
pub struct RestoredEntries {
    /// Waiting entries with their places.
    pub waiting: Vec<(WaitScore, EntryId)>,
    /// Those of `waiting` that wait for their second turn, with their visits.
    pub waiting_again: Vec<(Visit, EntryId)>,
    /// Those of `waiting` that an operator moved to another lane, with their facts. They are not in
    /// `waiting_again`.
    pub moved: Vec<(Fact, EntryId)>,
    /// Ready entries with their visits and turns.
    pub ready: Vec<(Visit, Turn, EntryId)>,
    /// Active entries with their sessions.
    pub active: Vec<(RestoredSession, EntryId)>,
    /// Entries whose slot is held, with the ways in which their visits ended.
    pub held: Vec<(Fact, EndReason, EntryId)>,
    /// The highest visit number of all added records. New entries continue above it.
    pub last_order: u64,
    /// The highest version of all added records: the last time that the lost line knew, if no clock
    /// was wrong.
    pub v: u64,
    /// The tally in the backup, with which the restored queue begins.
    pub tally: Tally,
}

impl RestoredEntries {
    /// Adds the entry of a record. A waiting entry keeps its place, and an active entry keeps its
    /// session end. A ready entry gets its claim deadline later, because its visitor could not
    /// claim while the line was unavailable. A record of an ended entry adds no entry, but
    /// its slot if that is held.
    pub fn add(&mut self, record: &EntryRecord) {
        let (fact, id) = (record.fact, record.id);
        self.v = self.v.max(record.version.v);
        self.last_order = self.last_order.max(fact.visit.number());
        match fact.live_state() {
            Some(EntryState::Waiting) => {
                self.waiting
                    .push((record.score.unwrap_or_else(|| fact.visit.place()), id));
                if fact.step_ms > 0 {
                    self.moved.push((fact, id));
                } else if fact.turn() == Some(Turn::Second) {
                    self.waiting_again.push((fact.visit, id));
                }
            }
            Some(EntryState::Ready) => {
                let turn = fact.turn().unwrap_or(Turn::First);
                self.ready.push((fact.visit, turn, id));
            }
            Some(_) => {
                let session = RestoredSession {
                    visit: fact.visit,
                    end_ms: fact.step_ms,
                    began_at_ms: record.claimed_at_ms,
                };
                self.active.push((session, id));
            }
            None if fact.step == Step::Held => {
                self.held.extend(record.end_reason().map(|how| (fact, how, id)));
            }
            None => {}
        }
    }

    /// Drops the visits that began later than both clocks show, and logs them. A restore must not
    /// continue the order from such a visit: every later visitor would seem to have joined in the
    /// future.
    pub fn drop_future_visits(&mut self, queue: &QueueId, time: LineTime) {
        let latest = Visit::latest_at(time.latest_visit_ms());
        if self.last_order <= latest.number() {
            return;
        }
        let is_believed = |visit: Visit, id: EntryId| {
            if visit > latest {
                tracing::error!(
                    event = "entry.future_record_refused", %queue, entry = %id,
                    "did not restore an entry whose visit began more than a minute after the current time; correct or \
                     delete its item in the table"
                );
            }
            visit <= latest
        };
        self.waiting.retain(|&(place, id)| is_believed(place.visit(), id));
        self.waiting_again.retain(|&(visit, _)| visit <= latest);
        self.moved.retain(|&(fact, _)| fact.visit <= latest);
        self.ready.retain(|&(visit, _, id)| is_believed(visit, id));
        self.active
            .retain(|&(session, id)| is_believed(session.visit, id));
        self.held.retain(|&(fact, _, id)| is_believed(fact.visit, id));
        let visits = self.waiting.iter().map(|(place, _)| place.visit());
        let visits = visits.chain(self.ready.iter().map(|&(visit, ..)| visit));
        let visits = visits.chain(self.active.iter().map(|(session, _)| session.visit));
        let visits = visits.chain(self.held.iter().map(|&(fact, ..)| fact.visit));
        self.last_order = visits.map(Visit::number).max().unwrap_or(0);
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
