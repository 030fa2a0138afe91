//! The steps that read the journal of a queue, add to it and acknowledge its records.

use vestibule_domain::{
    change::{Change, VisitEnd},
    clock::LineTime,
};
use vestibule_line::{DeadLetterOutcome, JournalRecord, RequeueOrder};

use super::queue::Queue;

impl Queue {
    /// Returns the oldest records that are due. Compares with the server's clock and not with line
    /// time, because line time may be far ahead of the clock for a while.
    pub(super) fn due_journal_records(&self, now_us: u64, records_max: usize) -> Vec<JournalRecord> {
        let is_due = |record: &&JournalRecord| record.retry_at_ms <= now_us / 1_000;
        let records = self.journal.records.iter();
        records.filter(is_due).take(records_max).cloned().collect()
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
            record.key = format!("dead-letter:{}", self.journal.next_key());
            self.journal.dead_letters.push_back(record);
        }
        DeadLetterOutcome::Moved
    }

    pub(super) fn dead_lettered(&self, records_max: usize) -> Vec<JournalRecord> {
        self.journal
            .dead_letters
            .iter()
            .take(records_max)
            .cloned()
            .collect()
    }

    pub(super) fn acknowledge(&mut self, time: LineTime, keys: &[String], ended: &[VisitEnd]) {
        self.journal.remove_records(keys);
        for end in ended {
            self.ended.mark_settled(time.ms(), end);
        }
        self.ended.purge(time);
    }
}
