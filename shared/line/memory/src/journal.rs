//! The journal of one queue in memory: its records and its dead letters.

use std::collections::{HashSet, VecDeque};

use vestibule_domain::change::Change;
use vestibule_line::JournalRecord;

/// The outbox: changes that the backup does not have yet.
#[derive(Debug, Default)]
pub(super) struct Journal {
    pub(super) records: VecDeque<JournalRecord>,
    /// Dead letters: records that the backup keeps rejecting.
    pub(super) dead_letters: VecDeque<JournalRecord>,
    /// The number of keys that have been assigned.
    last_key: u64,
}

impl Journal {
    pub(super) fn len(&self) -> u64 {
        self.records.len() as u64
    }

    /// Whether the journal has at least `limit` records.
    pub(super) fn is_full(&self, limit: u64) -> bool {
        self.len() >= limit
    }

    pub(super) fn add(&mut self, changes: Vec<Change>, tries: u32, retry_at_ms: u64) {
        let key = self.next_key();
        self.records.push_back(JournalRecord {
            key,
            changes,
            attempts: tries,
            retry_at_ms,
            parse_error: None,
        });
    }

    pub(super) fn next_key(&mut self) -> String {
        self.last_key += 1;
        self.last_key.to_string()
    }

    /// Removes the records with these keys from the journal and the dead letters.
    pub(super) fn remove_records(&mut self, keys: &[String]) {
        let keys: HashSet<_> = keys.iter().collect();
        let stays = |record: &JournalRecord| !keys.contains(&record.key);
        self.records.retain(stays);
        self.dead_letters.retain(stays);
    }

    pub(super) fn find_index(&self, key: &str) -> Option<usize> {
        self.records.iter().position(|record| record.key == key)
    }
}
