//! The tally of one queue in memory.

use async_trait::async_trait;
use vestibule_domain::{
    change::Version,
    clock::LineTime,
    id::QueueId,
    tally::{Tally, TallySnapshot},
};
use vestibule_line::{LineError, TallyLine};

use super::{memory_line::MemoryLine, queue::Queue};

impl Queue {
    /// What happened since the generation began.
    pub(super) fn tally(&self) -> Tally {
        Tally {
            totals: self.tally.totals_before.plus(&self.totals),
            waits: self.tally.waits.clone(),
            peak: self.tally.peak,
        }
    }

    fn snapshot_tally(&self, time: LineTime) -> TallySnapshot {
        TallySnapshot {
            generation: self.configuration.generation,
            salt: self.configuration.salt,
            version: self.change_mark().version,
            at_ms: time.ms(),
            tally: self.tally(),
        }
    }

    fn take_tally(&mut self, time: LineTime, every_ms: u64) -> Option<TallySnapshot> {
        let now_ms = time.ms();
        // The tally is due at once if the clock was set back.
        let passed_ms = now_ms.checked_sub(self.tally.taken_at_ms);
        if self.tally.stored_v == self.v || passed_ms.is_some_and(|passed_ms| passed_ms < every_ms) {
            return None;
        }
        self.tally.taken_at_ms = now_ms;
        Some(self.snapshot_tally(time))
    }

    fn acknowledge_tally(&mut self, stored: Version) {
        if stored.epoch == self.configuration.epoch {
            self.tally.stored_v = self.tally.stored_v.max(stored.v);
        }
    }
}

#[async_trait]
impl TallyLine for MemoryLine {
    async fn read_tally(&self, queue: &QueueId) -> Result<TallySnapshot, LineError> {
        self.with_queue(queue, |queue, time| queue.snapshot_tally(time))
    }

    async fn take_tally(&self, queue: &QueueId, every_ms: u64) -> Result<Option<TallySnapshot>, LineError> {
        self.with_queue(queue, |queue, time| queue.take_tally(time, every_ms))
    }

    async fn acknowledge_tally(&self, queue: &QueueId, stored: Version) -> Result<(), LineError> {
        self.with_queue(queue, |queue, _| queue.acknowledge_tally(stored))
    }
}
