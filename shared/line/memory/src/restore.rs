//! The steps of a restore: the line drops a queue, shows its unflushed changes, and takes the queue
//! back.

use vestibule_domain::{
    change::VisitEnd, configuration::Configuration, fact::Step, id::QueueId, pace::PaceBucket,
};
use vestibule_line::{ConfigureOutcome, LineError, RestoredEntries, UnflushedChanges};

use super::{
    dropped_queue::DroppedQueue, memory_line::MemoryLine, queue::Queue, tally_counter::TallyCounter,
};

impl MemoryLine {
    pub(super) fn drop_for_restore(&self, queue: &QueueId, epoch: u32) -> bool {
        let mut queues = self.lock();
        if queues.is_outdated(queue, epoch) {
            return false;
        }
        if let Some(there) = queues.live.remove(queue) {
            queues
                .dropped
                .insert(queue.clone(), DroppedQueue::from_queue(there));
        }
        queues.dropped.entry(queue.clone()).or_default().epoch = epoch;
        true
    }

    pub(super) fn unflushed_changes(
        &self,
        queue: &QueueId,
        records_max: usize,
    ) -> Result<UnflushedChanges, LineError> {
        let queues = self.lock();
        let lost = queues.dropped.get(queue).ok_or(LineError::QueueNotFound)?;
        Ok(UnflushedChanges {
            generation: lost.generation,
            records: lost.journal.all().take(records_max).cloned().collect(),
            ends: lost.ended.unsettled().take(records_max).copied().collect(),
        })
    }

    pub(super) fn acknowledge_changes(
        &self,
        queue: &QueueId,
        keys: &[String],
        ended: &[VisitEnd],
    ) -> Result<(), LineError> {
        let mut queues = self.lock();
        if let Some(there) = queues.live.get_mut(queue) {
            let time = self.line_time(there.offset_ms, there.last_us());
            there.acknowledge(time, keys, ended);
            return Ok(());
        }
        let lost = queues.dropped.get_mut(queue).ok_or(LineError::QueueNotFound)?;
        let time = self.line_time(0, 0);
        lost.journal.remove_records(keys);
        for end in ended {
            lost.ended.mark_settled(time.ms(), end);
        }
        lost.ended.purge(time);
        Ok(())
    }

    pub(super) fn restore_queue(
        &self,
        queue: &QueueId,
        configuration: &Configuration,
        fence: u64,
        mut places: RestoredEntries,
    ) -> ConfigureOutcome {
        let mut queues = self.lock();
        let epoch = configuration.epoch;
        if queues.is_outdated(queue, epoch) {
            return if queues.epoch(queue) == epoch {
                ConfigureOutcome::Unchanged
            } else {
                ConfigureOutcome::Superseded
            };
        }
        let time = self.line_time(0, 0);
        places.drop_future_visits(queue, time);
        let now_us = time.with_last_version(places.v);
        let mut new = Queue::from_restored_entries(now_us, configuration.clone(), fence, places);
        let dropped = match queues.live.remove(queue) {
            Some(there) => Some(DroppedQueue::from_queue(there)),
            None => queues.dropped.remove(queue),
        };
        if let Some(left) = dropped
            && left
                .generation
                .is_none_or(|generation| generation == configuration.generation)
        {
            new.journal = left.journal;
            new.ended = left.ended;
        }
        queues.dropped.remove(queue);
        queues.tombstones.remove(queue);
        queues.live.insert(queue.clone(), new);
        ConfigureOutcome::Created
    }
}

impl Queue {
    /// Creates a restored queue.
    fn from_restored_entries(
        now_us: u64,
        configuration: Configuration,
        fence: u64,
        entries: RestoredEntries,
    ) -> Self {
        let mut queue = Self::without_tokens(now_us, configuration, fence);
        queue.add_restored_entries(now_us / 1_000, entries);
        queue
    }

    /// Creates a queue with an empty pace bucket, so that the protected service never gets two batches at once.
    pub(super) fn without_tokens(now_us: u64, configuration: Configuration, watermark: u64) -> Self {
        let mut queue = Self::new(now_us, configuration);
        queue.watermark = watermark;
        queue.bucket = PaceBucket {
            credit: 0,
            at_ms: now_us / 1_000,
        };
        // The next tick counts whom the queue may call.
        queue.newcomers_called = 0;
        queue
    }

    /// Adds the entries that the backup shows.
    pub(super) fn add_restored_entries(&mut self, now_ms: u64, entries: RestoredEntries) {
        let claim_by_ms = now_ms + self.claim_ms(now_ms);
        for (place, id) in entries.waiting {
            self.waiting.insert(place, id);
        }
        for (visit, id) in entries.waiting_again {
            self.visits.insert(id, (visit, Step::WaitingAgain));
        }
        for (fact, id) in entries.moved {
            self.waiting.set_moved_at_ms(id, fact.step_ms);
            if fact.step == Step::WaitingAgain {
                self.visits.insert(id, (fact.visit, fact.step));
            }
        }
        for (visit, turn, id) in entries.ready {
            self.put_ready(id, visit, turn, claim_by_ms);
        }
        for (session_end_ms, visit, id) in entries.active {
            self.put_active(id, visit, session_end_ms);
        }
        for (fact, how, id) in entries.held {
            self.held.hold(id, fact.visit, how, fact.step_ms);
        }
        self.last_order = entries.last_order;
        self.tally = TallyCounter::from_stored(entries.tally);
        // No total counts the restored entries.
        self.check_progress.checked_imbalance = self.compute_imbalance();
    }
}
