//! Stops a queue in memory in order, so that the next process continues it with the same epoch.
//!
//! The records in the backup tell the entries of a queue. A checkpoint has the rest that a line of the same epoch must
//! keep: versions, visit numbers and the counts that clients of the public document compare with earlier ones.
//! `docs/adr/0028-a-planned-restart-keeps-the-epoch.md` has the reasons.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde::{Deserialize, Serialize};
use vestibule_domain::{
    clock::CLOCK_DIFFERENCE_MAX_MS, configuration::Configuration, id::QueueId, lane::LaneProgress,
    tally::Tally,
};
use vestibule_line::RestoredEntries;

use super::{
    dropped_queue::DroppedQueue, memory_line::MemoryLine, queue::Queue, tally_counter::TallyCounter,
};

/// The state of a stopped queue that the records of its entries do not tell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueCheckpoint {
    epoch: u32,
    generation: u32,
    /// The revision of the settings in force.
    revision: String,
    watermark: u64,
    v: u64,
    last_order: u64,
    /// When the queue opened, because the backup may not have it yet. An earlier build stored no such time.
    #[serde(default)]
    opened_at_ms: Option<u64>,
    passes_until_ms: u64,
    claim_floor_ms: u64,
    claim_floor_until_ms: u64,
    lanes: Vec<LaneCheckpoint>,
    /// What happened since the generation began. An earlier build stored none.
    #[serde(default)]
    tally: Tally,
    /// A hash of the waiting, ready and active entries.
    entries: u64,
}

/// What clients of the public document compare with earlier documents of the same epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct LaneCheckpoint {
    lane: u8,
    gone_ahead: i64,
    check_in_through: u64,
}

/// Why a queue does not continue at its checkpoint. It has to be restored with a new epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CheckpointMismatch {
    /// The stored queue has another epoch, generation or revision, or a later watermark.
    #[error("the stored queue has changed since the last run stopped")]
    OtherQueue,
    /// The backup does not have exactly the entries that the line had.
    #[error("the stored entries are not those that the line had when the last run stopped")]
    OtherEntries,
    /// The checkpoint is of a later time than the clock shows.
    #[error("the clock of this machine is behind the last change of the queue")]
    ClockBehind,
}

impl MemoryLine {
    /// Takes a queue out of the line, because the process ends. From then on the line does not have the queue, and
    /// keeps only its [unflushed changes](vestibule_line::RecoveryLine::unflushed). Returns `None` if the line does not
    /// have it.
    pub fn stop_queue(&self, queue: &QueueId) -> Option<QueueCheckpoint> {
        let mut queues = self.lock();
        let stopped = queues.live.remove(queue)?;
        let checkpoint = stopped.checkpoint();
        queues
            .dropped
            .insert(queue.clone(), DroppedQueue::from_queue(stopped));
        Some(checkpoint)
    }

    /// Whether the line has changes of a stopped queue that the backup may not have.
    pub fn has_unflushed_changes(&self, queue: &QueueId) -> bool {
        let queues = self.lock();
        let stopped = queues.dropped.get(queue);
        stopped.is_some_and(|queue| {
            let journal = &queue.journal;
            journal.len() > 0 || !journal.dead_letters.is_empty() || queue.ended.unsettled_count() > 0
        })
    }

    /// Continues a stopped queue with the same epoch. `fence` is the watermark in the backup. As after a restore, ready
    /// entries get new claim deadlines, the pace bucket is empty, and visitors check in again.
    ///
    /// # Errors
    /// [`CheckpointMismatch`]. The line does not have the queue then.
    pub fn continue_queue(
        &self,
        queue: &QueueId,
        configuration: &Configuration,
        fence: u64,
        checkpoint: &QueueCheckpoint,
        entries: RestoredEntries,
    ) -> Result<(), CheckpointMismatch> {
        let mut queues = self.lock();
        let is_known = queues.live.contains_key(queue) || queues.dropped.contains_key(queue);
        if is_known || !checkpoint.is_of(configuration) || checkpoint.watermark < fence {
            return Err(CheckpointMismatch::OtherQueue);
        }
        let time = self.line_time(0, 0);
        if checkpoint.v > time.us + CLOCK_DIFFERENCE_MAX_MS * 1_000 {
            return Err(CheckpointMismatch::ClockBehind);
        }
        let now_us = time.us.max(checkpoint.v);
        let continued = Queue::from_checkpoint(now_us, configuration.clone(), checkpoint, entries);
        if continued.hash_entries() != checkpoint.entries {
            return Err(CheckpointMismatch::OtherEntries);
        }
        queues.live.insert(queue.clone(), continued);
        Ok(())
    }
}

impl QueueCheckpoint {
    fn is_of(&self, configuration: &Configuration) -> bool {
        (self.epoch, self.generation) == (configuration.epoch, configuration.generation)
            && self.revision == configuration.revision
    }
}

impl Queue {
    fn checkpoint(&self) -> QueueCheckpoint {
        let lanes = self.lanes.iter().map(|(lane, progress)| LaneCheckpoint {
            lane: *lane,
            // Presence begins anew, so the absent entries are ahead again.
            gone_ahead: progress.gone_ahead - progress.absent.cast_signed(),
            check_in_through: progress.check_in_through,
        });
        QueueCheckpoint {
            epoch: self.configuration.epoch,
            generation: self.configuration.generation,
            revision: self.configuration.revision.clone(),
            watermark: self.watermark,
            v: self.v,
            last_order: self.last_order,
            opened_at_ms: self.configuration.opened_at_ms,
            passes_until_ms: self.passes_until_ms,
            claim_floor_ms: self.claim_floor_ms,
            claim_floor_until_ms: self.claim_floor_until_ms,
            lanes: lanes.collect(),
            tally: self.tally(),
            entries: self.hash_entries(),
        }
    }

    fn from_checkpoint(
        now_us: u64,
        configuration: Configuration,
        checkpoint: &QueueCheckpoint,
        entries: RestoredEntries,
    ) -> Self {
        let mut queue = Self::without_tokens(now_us, configuration, checkpoint.watermark);
        queue.passes_until_ms = checkpoint.passes_until_ms;
        queue.claim_floor_ms = checkpoint.claim_floor_ms;
        queue.claim_floor_until_ms = checkpoint.claim_floor_until_ms;
        queue.add_restored_entries(now_us / 1_000, entries);
        queue.tally = TallyCounter::from_stored(checkpoint.tally.clone());
        queue.last_order = queue.last_order.max(checkpoint.last_order);
        let opened_at_ms = &mut queue.configuration.opened_at_ms;
        *opened_at_ms = opened_at_ms.or(checkpoint.opened_at_ms);
        for stopped in &checkpoint.lanes {
            let progress = LaneProgress {
                gone_ahead: stopped.gone_ahead,
                check_in_through: stopped.check_in_through,
                ..LaneProgress::new(stopped.lane)
            };
            queue.lanes.insert(stopped.lane, progress);
        }
        queue
    }

    /// A hash of the waiting, ready and active entries with their places, visits and session ends. Claim deadlines are
    /// left out, because they begin anew. So are held slots, which become free while no process runs.
    fn hash_entries(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        let mut add = |set: &str, number: u64, id| {
            let visit = self.visits.get(&id);
            let visit = visit.map(|(visit, step)| (visit.number(), step.number()));
            (set, number, id.as_bytes(), visit).hash(&mut hasher);
        };
        for (place, id) in self.waiting.iter() {
            add("waiting", place.raw(), id);
            add("visits", place.visit().number(), id);
        }
        let mut ready: Vec<_> = self.ready.iter().map(|(_, id)| id).collect();
        ready.sort_unstable();
        for id in ready {
            add("ready", 0, id);
        }
        for (session_end_ms, id) in self.active.iter() {
            add("active", session_end_ms, id);
        }
        hasher.finish()
    }
}
