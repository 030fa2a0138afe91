//! The journal of one queue in memory.

use std::collections::{HashSet, VecDeque};

use vestibule_domain::change::{Change, VisitEnd};
use vestibule_line::{DeadLetterOutcome, JournalRecord, RequeueOrder};

use super::queue::Queue;

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

    /// Whether the journal has at least `most` records.
    pub(super) fn is_full(&self, most: u64) -> bool {
        self.len() >= most
    }

    fn add(&mut self, changes: Vec<Change>, tries: u32, retry_at_ms: u64) {
        let key = self.next_key();
        self.records.push_back(JournalRecord {
            key,
            changes,
            attempts: tries,
            retry_at_ms,
            parse_error: None,
        });
    }

    fn next_key(&mut self) -> String {
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

    fn find_index(&self, key: &str) -> Option<usize> {
        self.records.iter().position(|record| record.key == key)
    }
}

impl Queue {
    /// Returns the oldest records that are due. Compares with the server's clock and not with line time, because
    /// line time may be far ahead of the clock for a while.
    pub(super) fn due_journal_records(&self, now_us: u64, most: usize) -> Vec<JournalRecord> {
        let is_due = |record: &&JournalRecord| record.retry_at_ms <= now_us / 1_000;
        let records = self.journal.records.iter();
        records.filter(is_due).take(most).cloned().collect()
    }

    pub(super) fn append_to_journal(&mut self, changes: Vec<Change>) {
        self.journal.add(changes, 0, 0);
    }

    pub(super) fn requeue_with_backoff(&mut self, now_us: u64, order: &RequeueOrder) {
        let Some(at) = self.journal.find_index(&order.key) else {
            return;
        };
        self.journal.records.remove(at);
        if !order.untried.is_empty() {
            self.journal.add(order.untried.clone(), 0, 0);
        }
        let retry_at_ms = now_us / 1_000 + order.backoff_ms;
        for change in &order.rejected {
            self.journal.add(vec![*change], order.attempts, retry_at_ms);
        }
    }

    pub(super) fn dead_letter(&mut self, key: &str, dead_letters_max: u64) -> DeadLetterOutcome {
        let Some(at) = self.journal.find_index(key) else {
            return DeadLetterOutcome::AlreadyHandled;
        };
        if self.journal.dead_letters.len() as u64 >= dead_letters_max {
            return DeadLetterOutcome::Full;
        }
        if let Some(mut record) = self.journal.records.remove(at) {
            record.key = format!("aside:{}", self.journal.next_key());
            self.journal.dead_letters.push_back(record);
        }
        DeadLetterOutcome::Moved
    }

    pub(super) fn dead_lettered(&self, most: usize) -> Vec<JournalRecord> {
        self.journal.dead_letters.iter().take(most).cloned().collect()
    }

    pub(super) fn acknowledge(&mut self, keys: &[String], ended: &[VisitEnd]) {
        self.journal.remove_records(keys);
        for ending in ended {
            if self
                .ended
                .get(&ending.id)
                .is_some_and(|end| end.version <= ending.version)
            {
                self.ended.remove(&ending.id);
                self.revival_tickets.remove(&ending.id);
            }
        }
    }
}
