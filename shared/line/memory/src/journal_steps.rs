//! The steps that read the journal of a queue, add to it and acknowledge its records.

use vestibule_domain::{change::VisitEnd, clock::LineTime};
use vestibule_line::{DeadLetterOutcome, JournalRecord, RequeueOrder};

use super::{journal::Retry, queue::Queue};

impl Queue {
    /// Returns the oldest records that are due. Compares with the server's clock and not with line
    /// time, because line time may be far ahead of it for a while.
    pub(super) fn due_journal_records(&mut self, now_us: u64, records_max: usize) -> Vec<JournalRecord> {
        self.journal.resume_deferred(now_us / 1_000);
        self.journal.due().take(records_max).cloned().collect()
    }

    pub(super) fn journal_records(&self, records_max: usize) -> Vec<JournalRecord> {
        self.journal.all().take(records_max).cloned().collect()
    }

    pub(super) fn requeue_with_backoff(&mut self, now_us: u64, order: &RequeueOrder) {
        if self.journal.remove_due(&order.key).is_none() {
            return;
        }
        match order.untried.as_slice() {
            [] => {}
            [one] => drop(self.journal.add(*one, None, None)),
            many => self.journal.add_tick(many.to_vec()),
        }
        let retry = Retry {
            attempts: order.attempts,
            at_ms: now_us / 1_000 + order.backoff_ms,
        };
        for change in &order.rejected {
            self.journal.add(*change, None, Some(retry));
        }
    }

    pub(super) fn dead_letter(&mut self, key: &str, dead_letters_max: u64) -> DeadLetterOutcome {
        if self.journal.find_due(key).is_none() {
            return DeadLetterOutcome::AlreadyHandled;
        }
        if self.journal.dead_letters.len() as u64 >= dead_letters_max {
            return DeadLetterOutcome::Full;
        }
        if let Some(mut record) = self.journal.remove_due(key) {
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
