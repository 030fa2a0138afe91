//! A queue that was dropped for a restore: its unflushed changes, and the restore itself.

use std::collections::{HashMap, hash_map::Entry};

use vestibule_domain::{
    change::{Change, Ending},
    id::{EntryId, QueueId},
};
use vestibule_line::{Configuration, Configured, LineError, Places, Remains};

use super::{MemoryLine, Queues, journal::Journal, queue::Queue};

/// The unflushed changes of a dropped queue.
#[derive(Debug, Default)]
pub(super) struct Lost {
    /// The epoch of the planned restore. A restore with an earlier epoch is outdated and changes nothing.
    epoch: u32,
    generation: Option<u32>,
    journal: Journal,
    ended: HashMap<EntryId, Change>,
}

impl Lost {
    fn of(queue: Queue) -> Self {
        Self {
            epoch: 0,
            generation: Some(queue.configuration.generation),
            journal: queue.journal,
            ended: queue.ended,
        }
    }
}

impl Queues {
    /// The epoch of the queue that the line has; 0 if it has none.
    fn epoch(&self, queue: &QueueId) -> u32 {
        self.there.get(queue).map_or(0, |there| there.configuration.epoch)
    }

    /// Whether a caller with this epoch is outdated: the line has the queue with this epoch or a later one, or it
    /// dropped the queue for a later one.
    fn are_past(&self, queue: &QueueId, epoch: u32) -> bool {
        let begun = self.lost.get(queue).map_or(0, |lost| lost.epoch);
        self.epoch(queue) >= epoch || begun > epoch
    }
}

impl MemoryLine {
    pub(super) fn drop_queue(&self, queue: &QueueId, epoch: u32) -> bool {
        let mut queues = self.lock();
        if queues.are_past(queue, epoch) {
            return false;
        }
        if let Some(there) = queues.there.remove(queue) {
            queues.lost.insert(queue.clone(), Lost::of(there));
        }
        queues.lost.entry(queue.clone()).or_default().epoch = epoch;
        true
    }

    pub(super) fn remains_of(&self, queue: &QueueId, most: usize) -> Result<Remains, LineError> {
        let queues = self.lock();
        let lost = queues.lost.get(queue).ok_or(LineError::Unknown)?;
        Ok(Remains {
            generation: lost.generation,
            records: lost.journal.records.iter().take(most).cloned().collect(),
            ends: lost.ended.values().take(most).copied().collect(),
        })
    }

    pub(super) fn settle_queue(
        &self,
        queue: &QueueId,
        keys: &[String],
        ended: &[Ending],
    ) -> Result<(), LineError> {
        let mut queues = self.lock();
        if let Some(there) = queues.there.get_mut(queue) {
            there.settle(keys, ended);
            return Ok(());
        }
        let lost = queues.lost.get_mut(queue).ok_or(LineError::Unknown)?;
        lost.journal.drop_all(keys);
        for ending in ended {
            if let Entry::Occupied(end) = lost.ended.entry(ending.id)
                && end.get().version <= ending.version
            {
                end.remove();
            }
        }
        Ok(())
    }

    pub(super) fn put_back(
        &self,
        queue: &QueueId,
        configuration: &Configuration,
        fence: u64,
        places: Places,
    ) -> Configured {
        let mut queues = self.lock();
        let epoch = configuration.epoch;
        if queues.are_past(queue, epoch) {
            return if queues.epoch(queue) == epoch {
                Configured::Same
            } else {
                Configured::Older
            };
        }
        let now_us = self.time(0, places.v).us;
        let mut new = Queue::restored(now_us, configuration.clone(), fence, places);
        let left = match queues.there.remove(queue) {
            Some(there) => Some(Lost::of(there)),
            None => queues.lost.remove(queue),
        };
        if let Some(left) = left
            && left
                .generation
                .is_none_or(|generation| generation == configuration.generation)
        {
            new.journal = left.journal;
            new.ended = left.ended;
        }
        queues.lost.remove(queue);
        queues.there.insert(queue.clone(), new);
        Configured::Created
    }
}
