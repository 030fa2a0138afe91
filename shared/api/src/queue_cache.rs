//! Caches a snapshot of each queue. The process asks the line for a queue at most once a second, however
//! many requests need it (single-flight).

mod known;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};
use vestibule_backup::{Backup, EntryPartition};
use vestibule_domain::{
    estimate::{Estimate, Forecast},
    id::{IdKey, QueueId, RootKey},
    record::EntryRecord,
    settings::{Entrance, Settings},
};
use vestibule_line::{LineError, QueueLine, QueueView};

use self::known::FallbackCache;
pub(crate) use self::known::{DegradedQueue, READ_TIMEOUT};

/// The maximum age of a snapshot.
const SNAPSHOT_AGE_MAX: Duration = Duration::from_secs(1);
/// The maximum age of a failure. It is long enough that requests do not queue up behind an unavailable
/// store, and no longer.
const FAILURE_AGE_MAX: Duration = Duration::from_millis(250);
/// The maximum age of the answer that the line is unavailable. A request that asks again waits until the
/// line has timed out.
const OUTAGE_AGE_MAX: Duration = Duration::from_secs(1);
/// The same while another request finds out whether the line is back. Otherwise all requests would wait for
/// that.
const OUTAGE_AGE_MAX_WHILE_PROBING: Duration = Duration::from_secs(5);
/// How many queues the cache keeps. A process serves few queues, and a client that invents names must not
/// fill the memory.
const QUEUES_MAX: usize = 1_000;

/// A snapshot of a queue as the line showed it, and what follows from it.
#[derive(Debug)]
pub(crate) struct QueueSnapshot {
    pub(crate) queue: QueueId,
    pub(crate) view: QueueView,
    /// When turns come, according to this snapshot.
    pub(crate) forecast: Forecast,
    /// Derives tokens from visitors.
    pub(crate) ids: IdKey,
    /// Read just before the line was asked.
    asked_at: Instant,
}

impl QueueSnapshot {
    pub(crate) fn settings(&self) -> &Settings {
        &self.view.configuration.settings
    }

    /// Line time in Unix milliseconds. It is never behind the line's clock, and ahead of it by at most the
    /// time that the line took to answer.
    pub(crate) fn now_ms(&self) -> u64 {
        self.view.now_ms.saturating_add(self.age_ms())
    }

    /// The age of the snapshot, in milliseconds.
    pub(crate) fn age_ms(&self) -> u64 {
        u64::try_from(self.asked_at.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Entries served per second, as measured lately; `None` before any were served.
    pub(crate) fn rate(&self) -> Option<f64> {
        self.forecast.observed_per_second()
    }

    /// The expected wait at a position, in milliseconds. Pacing needs a number even if there is no
    /// estimate.
    pub(crate) fn eta_ms(&self, position: u64) -> u64 {
        self.forecast.eta_ms(position)
    }

    /// The estimated wait at a position; `None` if there is no estimate.
    pub(crate) fn estimate(&self, position: u64) -> Option<Estimate> {
        self.view.estimate(&self.forecast, position)
    }

    /// Until when a visitor who missed the turn may enter again at the old place, in Unix milliseconds,
    /// according to the record. `None` if entering now would not give the place back.
    pub(crate) fn grace_until_ms(&self, record: &EntryRecord) -> Option<u64> {
        let settings = self.settings();
        let until_ms = record.grace_until_ms(settings.grace_seconds)?;
        (settings.entrance == Entrance::Open && self.now_ms() <= until_ms).then_some(until_ms)
    }

    /// Returns the partition that holds the records of this queue's entries.
    pub(crate) fn partition(&self) -> EntryPartition {
        EntryPartition::from_configuration(&self.queue, &self.view.configuration)
    }
}

/// Why there is no snapshot of a queue.
#[derive(Debug, Clone)]
pub(crate) enum QueueLookupError {
    /// Neither the line nor the backup has the queue.
    QueueNotFound,
    /// The backup has the queue, and the line lost it.
    Recovering,
    /// The line gave no answer.
    LineUnavailable(String),
    /// The line does not have the queue, and the backup gave no answer.
    BackupUnavailable(String),
    /// The line gave an answer that makes no sense.
    Protocol(String),
}

/// An answer, and the time at which it was current.
#[derive(Clone)]
struct CachedAnswer {
    at: Instant,
    snapshot: Result<Arc<QueueSnapshot>, QueueLookupError>,
}

impl CachedAnswer {
    fn is_fresh(&self) -> bool {
        let fresh = match self.snapshot {
            Ok(_) => SNAPSHOT_AGE_MAX,
            Err(QueueLookupError::LineUnavailable(_)) => OUTAGE_AGE_MAX,
            Err(_) => FAILURE_AGE_MAX,
        };
        self.at.elapsed() < fresh
    }

    fn is_recent_outage(&self) -> bool {
        matches!(self.snapshot, Err(QueueLookupError::LineUnavailable(_)))
            && self.at.elapsed() < OUTAGE_AGE_MAX_WHILE_PROBING
    }
}

/// The cache of one queue: the last answer, and the lock of the request that asks for the next one.
struct CacheSlot {
    refresh_lock: tokio::sync::Mutex<()>,
    latest: watch::Sender<Option<CachedAnswer>>,
    fallback: FallbackCache,
}

impl CacheSlot {
    fn fresh_answer(&self) -> Option<CachedAnswer> {
        self.latest.borrow().clone().filter(CachedAnswer::is_fresh)
    }

    /// Returns the last answer if it says that the line was unavailable a moment ago.
    fn recent_outage(&self) -> Option<CachedAnswer> {
        self.latest
            .borrow()
            .clone()
            .filter(CachedAnswer::is_recent_outage)
    }
}

/// The snapshots of the queues that one process serves.
pub(crate) struct QueueCache {
    line: Arc<dyn QueueLine>,
    backup: Arc<dyn Backup>,
    root: RootKey,
    slots: Mutex<HashMap<QueueId, Arc<CacheSlot>>>,
}

impl QueueCache {
    pub(crate) fn new(line: Arc<dyn QueueLine>, backup: Arc<dyn Backup>, root: RootKey) -> Self {
        Self {
            line,
            backup,
            root,
            slots: Mutex::default(),
        }
    }

    /// Returns a snapshot that is at most a second old. If several requests ask at once, one of them asks
    /// the line for all.
    pub(crate) async fn get(&self, queue: &QueueId) -> Result<Arc<QueueSnapshot>, QueueLookupError> {
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
        if let Ok(seen) = &answer.snapshot {
            slot.fallback.store_snapshot(seen);
        }
        slot.latest.send_replace(Some(answer.clone()));
        answer.snapshot
    }

    /// Waits for a snapshot that is newer than the given one. It comes at most a second after that one.
    pub(crate) async fn get_newer_than(
        &self,
        seen: &QueueSnapshot,
    ) -> Result<Arc<QueueSnapshot>, QueueLookupError> {
        let slot = self.slot(&seen.queue);
        let mut latest = slot.latest.subscribe();
        loop {
            let newer = latest
                .borrow_and_update()
                .clone()
                .filter(|answer| answer.at > seen.asked_at);
            if let Some(answer) = newer {
                return answer.snapshot;
            }
            tokio::select! {
                // The slot owns the sender, so this does not fail.
                _ = latest.changed() => {}
                () = sleep_until(seen.asked_at + SNAPSHOT_AGE_MAX) => return self.get(&seen.queue).await,
            }
        }
    }

    /// Drops the snapshot of a queue, because the line has just contradicted it.
    pub(crate) fn invalidate(&self, queue: &QueueId) {
        self.slot(queue).latest.send_replace(None);
    }

    /// How many queues the cache keeps.
    #[cfg(test)]
    pub(super) fn cached_queues(&self) -> usize {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    async fn read_snapshot(&self, queue: &QueueId) -> CachedAnswer {
        let asked_at = Instant::now();
        match self.line.queue_view(queue).await {
            Ok(view) => {
                let ids = IdKey::derive_for_queue(&self.root, queue, &view.configuration.salt);
                let seen = QueueSnapshot {
                    queue: queue.clone(),
                    forecast: view.forecast(),
                    view,
                    ids,
                    asked_at,
                };
                CachedAnswer {
                    at: asked_at,
                    snapshot: Ok(Arc::new(seen)),
                }
            }
            Err(error) => {
                let seen = Err(self.lookup_error(queue, error).await);
                CachedAnswer {
                    at: Instant::now(),
                    snapshot: seen,
                }
            }
        }
    }

    async fn lookup_error(&self, queue: &QueueId, error: LineError) -> QueueLookupError {
        match error {
            LineError::QueueNotFound => match self.backup.read_queue(queue).await {
                Ok(Some(_)) => QueueLookupError::Recovering,
                Ok(None) => QueueLookupError::QueueNotFound,
                Err(error) => QueueLookupError::BackupUnavailable(error.to_string()),
            },
            LineError::Unavailable(cause) => QueueLookupError::LineUnavailable(cause),
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
        });
        slots.insert(queue.clone(), slot.clone());
        slot
    }
}
