//! The journal of one queue in memory: its records and its dead letters.

use std::collections::{BTreeMap, HashMap, VecDeque};

use vestibule_domain::{
    change::{Change, Event},
    id::EntryId,
};
use vestibule_line::JournalRecord;

use super::change_kind::{ChangeKind, inherit, replaces};

/// The most deferred records that one read moves behind the due ones.
const MOVED_MAX: usize = 1_000;

/// An entry and the kind of a single change of it.
type Slot = (EntryId, ChangeKind);

/// When a change that the backup refused is tried again.
#[derive(Debug, Clone, Copy)]
pub(super) struct Retry {
    /// How often the backup refused it.
    pub(super) attempts: u32,
    /// In Unix milliseconds, by the server's clock.
    pub(super) at_ms: u64,
}

/// Where the record of a single change is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Location {
    Due(u64),
    Deferred { retry_at_ms: u64 },
}

/// The outbox: changes that the backup does not have yet.
#[derive(Debug, Default)]
pub(super) struct Journal {
    /// The due records by the number in their keys, which rises.
    due: BTreeMap<u64, JournalRecord>,
    /// Changes that the backup refused and that are not due again yet, by the time at which they
    /// are, and by name.
    deferred: BTreeMap<(u64, String), (Slot, JournalRecord)>,
    /// The records of single changes. There is at most one of each entry and kind.
    slots: HashMap<Slot, Location>,
    /// Dead letters: records that the backup keeps rejecting.
    pub(super) dead_letters: VecDeque<JournalRecord>,
    /// The number of keys that have been assigned.
    last_key: u64,
}

impl Journal {
    pub(super) fn len(&self) -> u64 {
        (self.due.len() + self.deferred.len()) as u64
    }

    /// The number of records that are due.
    pub(super) fn due_len(&self) -> u64 {
        self.due.len() as u64
    }

    /// The first of the due records and the first of the deferred ones.
    pub(super) fn firsts(&self) -> impl Iterator<Item = &JournalRecord> {
        let due = self.due.values().next();
        let deferred = self.deferred.values().next();
        due.into_iter().chain(deferred.map(|(_, record)| record))
    }

    /// The due records, oldest first, and then the deferred ones.
    pub(super) fn all(&self) -> impl Iterator<Item = &JournalRecord> {
        let deferred = self.deferred.values().map(|(_, record)| record);
        self.due.values().chain(deferred)
    }

    /// The due records, oldest first.
    pub(super) fn due(&self) -> impl Iterator<Item = &JournalRecord> {
        self.due.values()
    }

    /// Moves deferred records that are due again behind the due ones.
    pub(super) fn resume_deferred(&mut self, now_ms: u64) {
        for _ in 0..MOVED_MAX {
            let Some(first) = self
                .deferred
                .first_entry()
                .filter(|first| first.key().0 <= now_ms)
            else {
                return;
            };
            let (slot, record) = first.remove();
            let number = self.push(record);
            self.slots.insert(slot, Location::Due(number));
        }
    }

    /// Adds changes of different entries as one record.
    pub(super) fn add_tick(&mut self, changes: Vec<Change>) {
        self.push(new_record(changes, None));
    }

    /// Adds a change, or leaves the record as it is that says the same or more. Returns `false` if
    /// the journal has `limit` records and the change would add one.
    pub(super) fn add(&mut self, change: Change, limit: Option<u64>, retry: Option<Retry>) -> bool {
        let mut slot = (change.id, ChangeKind::of(&change.event));
        let mut old = self.find(slot);
        if matches!(change.event, Event::Claimed { .. })
            && old.is_some_and(|(_, old)| {
                let (new, old) = (change.fact(), old.changes[0].fact());
                new.visit == old.visit && new > old
            })
        {
            // The first claim has the time of the claim. A repeated one only tells a later session end.
            slot.1 = ChangeKind::Deadline;
            old = self.find(slot);
        }
        let Some((location, old)) = old.map(|(location, old)| (location, old.clone())) else {
            if limit.is_some_and(|limit| self.len() >= limit) {
                return false;
            }
            self.put(slot, change, retry, retry.is_none());
            return true;
        };
        let replaced = &old.changes[0];
        if !replaces(&change, replaced) {
            return true;
        }
        self.remove_at(slot, location);
        let change = inherit(change, replaced);
        let is_due = retry.is_none() && matches!(location, Location::Due(_));
        let earlier_retry = (old.retry_at_ms > 0).then_some(Retry {
            attempts: old.attempts,
            at_ms: old.retry_at_ms,
        });
        self.put(slot, change, retry.or(earlier_retry), is_due);
        true
    }

    /// Removes the records with these keys from the journal and the dead letters.
    pub(super) fn remove_records(&mut self, keys: &[String]) {
        for key in keys {
            if key.starts_with("dead-letter:") {
                self.dead_letters.retain(|record| record.key != *key);
            } else if let Some(name) = key.strip_prefix("deferred:") {
                self.deferred.retain(|(_, own), _| own != name);
                self.slots
                    .retain(|slot, at| matches!(at, Location::Due(_)) || slot_name(*slot) != name);
            } else {
                self.remove_due(key);
            }
        }
    }

    /// A due record; `None` if there is none with this key.
    pub(super) fn find_due(&self, key: &str) -> Option<&JournalRecord> {
        self.due.get(&key.parse().ok()?)
    }

    /// Removes a due record. Returns `None` if there is none with this key.
    pub(super) fn remove_due(&mut self, key: &str) -> Option<JournalRecord> {
        let number = key.parse().ok()?;
        let record = self.due.remove(&number)?;
        if let [change] = record.changes.as_slice() {
            for kind in [ChangeKind::of(&change.event), ChangeKind::Deadline] {
                let slot = (change.id, kind);
                if self.slots.get(&slot) == Some(&Location::Due(number)) {
                    self.slots.remove(&slot);
                }
            }
        }
        Some(record)
    }

    pub(super) fn next_key(&mut self) -> u64 {
        self.last_key += 1;
        self.last_key
    }

    fn find(&self, slot: Slot) -> Option<(Location, &JournalRecord)> {
        let location = *self.slots.get(&slot)?;
        let record = match location {
            Location::Due(number) => self.due.get(&number),
            Location::Deferred { retry_at_ms } => {
                let deferred = self.deferred.get(&(retry_at_ms, slot_name(slot)));
                deferred.map(|(_, record)| record)
            }
        };
        record.map(|record| (location, record))
    }

    fn put(&mut self, slot: Slot, change: Change, retry: Option<Retry>, is_due: bool) {
        let mut record = new_record(vec![change], retry);
        let location = match retry {
            Some(Retry { at_ms, .. }) if !is_due => {
                let name = slot_name(slot);
                record.key = format!("deferred:{name}");
                self.deferred.insert((at_ms, name), (slot, record));
                Location::Deferred { retry_at_ms: at_ms }
            }
            _ => Location::Due(self.push(record)),
        };
        self.slots.insert(slot, location);
    }

    fn remove_at(&mut self, slot: Slot, location: Location) {
        match location {
            Location::Due(number) => drop(self.due.remove(&number)),
            Location::Deferred { retry_at_ms } => drop(self.deferred.remove(&(retry_at_ms, slot_name(slot)))),
        }
    }

    fn push(&mut self, record: JournalRecord) -> u64 {
        let number = self.next_key();
        let key = number.to_string();
        self.due.insert(number, JournalRecord { key, ..record });
        number
    }
}

/// The name of the slot in Redis, by which deferred records of the same time are ordered.
fn slot_name((id, kind): Slot) -> String {
    format!("{} {}", id.to_member(), kind.name())
}

fn new_record(changes: Vec<Change>, retry: Option<Retry>) -> JournalRecord {
    JournalRecord {
        key: String::new(),
        changes,
        attempts: retry.map_or(0, |retry| retry.attempts),
        retry_at_ms: retry.map_or(0, |retry| retry.at_ms),
        parse_error: None,
    }
}
