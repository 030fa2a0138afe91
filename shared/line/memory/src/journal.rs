//! The journal of one queue in memory.

use std::collections::{HashSet, VecDeque};

use vestibule_domain::change::{Change, Ending};
use vestibule_line::{Deferral, JournalRecord, SetAside};

use super::queue::Queue;

/// The outbox: changes that the backup does not have yet.
#[derive(Debug, Default)]
pub(super) struct Journal {
    pub(super) records: VecDeque<JournalRecord>,
    /// Dead letters: records that the backup keeps rejecting.
    pub(super) aside: VecDeque<JournalRecord>,
    /// The number of keys that have been assigned.
    keys: u64,
}

impl Journal {
    pub(super) fn len(&self) -> u64 {
        self.records.len() as u64
    }

    /// Whether the journal has at least `most` records.
    pub(super) fn is_full(&self, most: u64) -> bool {
        self.len() >= most
    }

    fn add(&mut self, changes: Vec<Change>, tries: u32, retry_at_ms: u64) {
        let key = self.next_key();
        self.records.push_back(JournalRecord {
            key,
            changes,
            tries,
            retry_at_ms,
            unreadable: None,
        });
    }

    fn next_key(&mut self) -> String {
        self.keys += 1;
        self.keys.to_string()
    }

    /// Removes the records with these keys from the journal and the dead letters.
    pub(super) fn drop_all(&mut self, keys: &[String]) {
        let keys: HashSet<_> = keys.iter().collect();
        let stays = |record: &JournalRecord| !keys.contains(&record.key);
        self.records.retain(stays);
        self.aside.retain(stays);
    }

    fn find(&self, key: &str) -> Option<usize> {
        self.records.iter().position(|record| record.key == key)
    }
}

impl Queue {
    /// Returns the oldest records that are due. Compares with the server's clock and not with line time, because
    /// line time may be far ahead of the clock for a while.
    pub(super) fn journal(&self, now_us: u64, most: usize) -> Vec<JournalRecord> {
        let is_due = |record: &&JournalRecord| record.retry_at_ms <= now_us / 1_000;
        let records = self.journal.records.iter();
        records.filter(is_due).take(most).cloned().collect()
    }

    pub(super) fn record(&mut self, changes: Vec<Change>) {
        self.journal.add(changes, 0, 0);
    }

    pub(super) fn defer(&mut self, now_us: u64, deferral: &Deferral) {
        let Some(at) = self.journal.find(&deferral.key) else {
            return;
        };
        self.journal.records.remove(at);
        if !deferral.rest.is_empty() {
            self.journal.add(deferral.rest.clone(), 0, 0);
        }
        let retry_at_ms = now_us / 1_000 + deferral.wait_ms;
        for change in &deferral.refused {
            self.journal.add(vec![*change], deferral.tries, retry_at_ms);
        }
    }

    pub(super) fn set_aside(&mut self, key: &str, aside_max: u64) -> SetAside {
        let Some(at) = self.journal.find(key) else {
            return SetAside::Gone;
        };
        if self.journal.aside.len() as u64 >= aside_max {
            return SetAside::Full;
        }
        if let Some(mut record) = self.journal.records.remove(at) {
            record.key = format!("aside:{}", self.journal.next_key());
            self.journal.aside.push_back(record);
        }
        SetAside::Done
    }

    pub(super) fn aside(&self, most: usize) -> Vec<JournalRecord> {
        self.journal.aside.iter().take(most).cloned().collect()
    }

    pub(super) fn settle(&mut self, keys: &[String], ended: &[Ending]) {
        self.journal.drop_all(keys);
        for ending in ended {
            if self
                .ended
                .get(&ending.id)
                .is_some_and(|end| end.version <= ending.version)
            {
                self.ended.remove(&ending.id);
                self.sought.remove(&ending.id);
            }
        }
    }
}
