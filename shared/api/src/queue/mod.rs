//! Caches a snapshot of each queue. The process asks the line for a queue at most once a second, however
//! many requests need it (single-flight).

mod backup_lookup;
mod degraded_queue;
mod slot;
mod snapshot;
pub(crate) mod unknown_ids;

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};
use tracing::{error, info};
use vestibule_backup::Backup;
use vestibule_domain::{
    configuration::Configuration,
    id::{IdKey, QueueId, RootKey},
    poll_pacing::RefusedQueue,
};
use vestibule_engine::tick_history::TickHistory;
use vestibule_line::{Line, LineError};

use self::slot::{CacheSlot, CachedAnswer, FallbackCache, SNAPSHOT_AGE_MAX};
pub use self::snapshot::{QueueMoment, QueueReading};
use self::unknown_ids::UnknownIds;
pub(crate) use self::{
    degraded_queue::{DegradedQueue, READ_TIMEOUT},
    snapshot::{QueueLookupError, QueueSnapshot},
};

/// How many queues the cache keeps. A process serves few queues, and a client that invents names
/// must not fill the memory.
const QUEUES_MAX: usize = 1_000;

/// The snapshots of the queues that one process serves.
pub(crate) struct QueueCache {
    line: Line,
    backup: Arc<dyn Backup>,
    root: RootKey,
    slots: Mutex<HashMap<QueueId, Arc<CacheSlot>>>,
    /// The names of no queue. They take no slots, so a client that invents names drops no queue from the cache.
    absent_queues: UnknownIds<QueueId>,
    /// The latest ticks that the snapshots and the fallback ticks of this process have shown.
    tick_history: TickHistory,
}

impl QueueCache {
    pub(crate) fn new(line: Line, backup: Arc<dyn Backup>, root: RootKey) -> Self {
        Self {
            line,
            backup,
            root,
            slots: Mutex::default(),
            absent_queues: UnknownIds::default(),
            tick_history: TickHistory::default(),
        }
    }

    /// Returns a snapshot that is at most a second old. If several requests ask at once, one of
    /// them asks the line for all.
    pub(crate) async fn get(&self, queue: &QueueId) -> Result<Arc<QueueSnapshot>, QueueLookupError> {
        if self.absent_queues.is_absent(queue) {
            return Err(QueueLookupError::QueueNotFound);
        }
        let slot = self.slot(queue);
        if let Some(answer) = slot.fresh_answer() {
            return answer.snapshot;
        }
        let _turn = match (slot.refresh_lock.try_lock(), slot.recent_outage()) {
            (Ok(turn), _) => turn,
            (Err(_), Some(answer)) => return answer.snapshot,
            (Err(_), None) => slot.refresh_lock.lock().await,
        };
        if let Some(answer) = slot.fresh_answer() {
            return answer.snapshot;
        }
        let answer = self.read_snapshot(queue).await;
        if let Ok(snapshot) = &answer.snapshot {
            slot.fallback.store_snapshot(snapshot);
        }
        slot.latest.send_replace(Some(answer.clone()));
        answer.snapshot
    }

    /// Waits for a snapshot that is newer than the given one. It comes at most a second after that one.
    pub(crate) async fn get_newer_than(
        &self,
        snapshot: &QueueSnapshot,
    ) -> Result<Arc<QueueSnapshot>, QueueLookupError> {
        let slot = self.slot(&snapshot.queue);
        let mut latest = slot.latest.subscribe();
        loop {
            let newer_snapshot = latest
                .borrow_and_update()
                .clone()
                .filter(|answer| answer.at > snapshot.asked_at);
            if let Some(answer) = newer_snapshot {
                return answer.snapshot;
            }
            tokio::select! {
                // The slot owns the sender, so this does not fail.
                _ = latest.changed() => {}
                () = sleep_until(snapshot.asked_at + SNAPSHOT_AGE_MAX) => return self.get(&snapshot.queue).await,
            }
        }
    }

    /// Drops the snapshot of a queue, because the line has just contradicted it.
    pub(crate) fn invalidate(&self, queue: &QueueId) {
        self.slot(queue).latest.send_replace(None);
    }

    /// What this process remembers of the ticks of its queues.
    pub(crate) fn tick_history(&self) -> &TickHistory {
        &self.tick_history
    }

    /// What this process knows of a queue whose clients it refuses. `None` if it never saw the queue:
    /// an unknown name must not take a place in the cache.
    pub(crate) fn refused_queue(&self, queue: &QueueId) -> Option<RefusedQueue> {
        let slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = slots.get(queue)?.clone();
        drop(slots);
        slot.fallback.refused_queue()
    }

    /// How many queues the cache keeps.
    #[cfg(test)]
    pub(crate) fn cached_queues(&self) -> usize {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    async fn read_snapshot(&self, queue: &QueueId) -> CachedAnswer {
        let asked_at = Instant::now();
        match self.line.recent_queue_view(queue).await {
            Ok(view) => {
                self.tick_history.record_view(queue, view.last_tick);
                let snapshot = self.derive_ids(queue, &view.configuration).map(|ids| {
                    let reading = QueueReading::new(queue.clone(), view);
                    Arc::new(QueueSnapshot::new(reading, ids, asked_at))
                });
                CachedAnswer {
                    at: asked_at,
                    snapshot,
                }
            }
            Err(error) => {
                let snapshot = Err(self.lookup_error(queue, error).await);
                CachedAnswer {
                    at: Instant::now(),
                    snapshot,
                }
            }
        }
    }

    /// The key for the ids of a queue. A queue without a recorded root key gets the one of this process.
    fn derive_ids(&self, queue: &QueueId, configuration: &Configuration) -> Result<IdKey, QueueLookupError> {
        let slot = self.slot(queue);
        let salt = configuration.salt;
        let is_first_look = || !slot.is_root_key_noted.swap(true, Ordering::Relaxed);
        match IdKey::derive_for_queue(&self.root, queue, &salt) {
            Ok(ids) => {
                // The promoter brings what the backup has into the line. Until then, one attempt of each process is enough.
                if salt.root().is_none() && is_first_look() {
                    let (backup, root, queue) = (self.backup.clone(), self.root.fingerprint(), queue.clone());
                    let epoch = configuration.epoch;
                    tokio::spawn(async move {
                        if let Err(error) = backup.record_root_key(&queue, epoch, root).await {
                            // Not every function may write this.
                            info!(
                                event = "queue.root_key_unrecorded",
                                %queue,
                                %error,
                                "could not record with which root key the queue is used; another process tries again"
                            );
                        }
                    });
                }
                Ok(ids)
            }
            Err(other) => {
                if is_first_look() {
                    error!(
                        event = "queue.other_root_key",
                        %queue,
                        reason = %other,
                        "serves nothing for the queue, because the root key of the deployment is another one than that of the \
                         queue: put the former key back, or reset the queue"
                    );
                }
                Err(other.into())
            }
        }
    }

    async fn lookup_error(&self, queue: &QueueId, error: LineError) -> QueueLookupError {
        match error {
            LineError::QueueNotFound => self.read_lost_queue(queue).await,
            LineError::Unavailable(cause) | LineError::Full(cause) => {
                QueueLookupError::LineUnavailable(cause)
            }
            LineError::Protocol(cause) => QueueLookupError::Protocol(cause),
            // A read never adds to the journal, so this answer makes no sense.
            LineError::JournalFull => QueueLookupError::Protocol(error.to_string()),
        }
    }

    fn slot(&self, queue: &QueueId) -> Arc<CacheSlot> {
        // No code panics while it holds this lock, so the map in a poisoned lock is still intact.
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = slots.get(queue) {
            return slot.clone();
        }
        if slots.len() >= QUEUES_MAX {
            // Slots in use stay. Any other slot costs one more request to the line.
            slots.retain(|_, slot| Arc::strong_count(slot) > 1);
        }
        let slot = Arc::new(CacheSlot {
            refresh_lock: tokio::sync::Mutex::new(()),
            latest: watch::Sender::new(None),
            fallback: FallbackCache::default(),
            is_root_key_noted: AtomicBool::new(false),
        });
        slots.insert(queue.clone(), slot.clone());
        slot
    }
}
