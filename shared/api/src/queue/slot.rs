//! The cache of one queue: the last answer of its line, and what is kept for an outage.

use std::{
    sync::{Arc, Mutex, PoisonError, atomic::AtomicBool},
    time::Duration,
};

use tokio::{sync::watch, time::Instant};
use vestibule_domain::poll_pacing::RefusedQueue;

use super::{
    degraded_queue::DegradedQueue,
    snapshot::{QueueLookupError, QueueSnapshot},
};

/// The maximum age of a snapshot.
pub(super) const SNAPSHOT_AGE_MAX: Duration = Duration::from_secs(1);
/// The maximum age of a failure. It is long enough that requests do not queue up behind an unavailable
/// store, and no longer.
const FAILURE_AGE_MAX: Duration = Duration::from_millis(250);
/// The maximum age of the answer that the line is unavailable. A request that asks again waits until the
/// line has timed out.
const OUTAGE_AGE_MAX: Duration = Duration::from_secs(1);
/// The same while another request finds out whether the line is back. Otherwise all requests would
/// wait for that.
const OUTAGE_AGE_MAX_WHILE_PROBING: Duration = Duration::from_secs(5);

/// An answer, and the time at which it was current.
#[derive(Clone)]
pub(super) struct CachedAnswer {
    pub(super) at: Instant,
    pub(super) snapshot: Result<Arc<QueueSnapshot>, QueueLookupError>,
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
pub(super) struct CacheSlot {
    pub(super) refresh_lock: tokio::sync::Mutex<()>,
    pub(super) latest: watch::Sender<Option<CachedAnswer>>,
    pub(super) fallback: FallbackCache,
    /// Whether this process has recorded its root key with the queue, or has logged that it is another one.
    pub(super) is_root_key_noted: AtomicBool,
}

impl CacheSlot {
    pub(super) fn fresh_answer(&self) -> Option<CachedAnswer> {
        self.latest.borrow().clone().filter(CachedAnswer::is_fresh)
    }

    /// Returns the last answer if it says that the line was unavailable a moment ago.
    pub(super) fn recent_outage(&self) -> Option<CachedAnswer> {
        self.latest
            .borrow()
            .clone()
            .filter(CachedAnswer::is_recent_outage)
    }
}

/// How long the answer stays that the backup has a queue which the line lost. The time is drawn, so
/// that processes which noticed the loss together do not ask together for the whole restore.
const RECOVERING_AGE_MIN: Duration = Duration::from_secs(1);
const RECOVERING_AGE_MAX: Duration = Duration::from_millis(1_500);

/// The maximum age of an answer of the backup. Many clients may still poll a queue that is gone: the line alone is asked
/// whether it is back.
pub(super) const STORED_AGE_MAX: Duration = Duration::from_secs(2);

/// What the backup answered: the queue, or why it does not have it.
pub(super) type StoredAnswer = Result<Arc<DegradedQueue>, QueueLookupError>;

/// What the cache keeps of a queue for an outage of the line.
#[derive(Default)]
pub(super) struct FallbackCache {
    /// The last snapshot, however old it is.
    last_snapshot: Mutex<Option<Arc<QueueSnapshot>>>,
    /// Until this time, a queue that the line does not have counts as recovering, because the
    /// backup had it.
    recovering_until: Mutex<Option<Instant>>,
    /// The last answer of the backup and its time: the queue, or why the backup does not have it. The request that holds
    /// the lock asks the backup.
    pub(super) stored: tokio::sync::Mutex<Option<(Instant, StoredAnswer)>>,
}

impl FallbackCache {
    pub(super) fn is_recovering(&self) -> bool {
        let until = *self
            .recovering_until
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        until.is_some_and(|until| Instant::now() < until)
    }

    pub(super) fn set_recovering(&self) {
        let age = rand::random_range(RECOVERING_AGE_MIN..RECOVERING_AGE_MAX);
        *self
            .recovering_until
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(Instant::now() + age);
    }

    pub(super) fn store_snapshot(&self, snapshot: &Arc<QueueSnapshot>) {
        *self.last_snapshot.lock().unwrap_or_else(PoisonError::into_inner) = Some(snapshot.clone());
    }

    /// What is known of the queue for clients that are refused. The time to claim is the shortest one
    /// that may apply when the line is back, as in [`DegradedQueue::claim_ms`].
    pub(super) fn refused_queue(&self) -> Option<RefusedQueue> {
        let last = self.last_snapshot();
        // A request that reads the backup now holds the lock. The snapshot is the next best then.
        let stored_claim_ms = self.stored.try_lock().ok().and_then(|stored| {
            let (_, queue) = stored.as_ref()?;
            Some(queue.as_ref().ok()?.claim_ms)
        });
        let seen = last.map(|snapshot| snapshot.refused_queue());
        let seen_claim_ms = seen.map(|seen| seen.claim_ms);
        let claim_ms = seen_claim_ms.into_iter().chain(stored_claim_ms).min()?;
        Some(RefusedQueue {
            claim_ms,
            ..seen.unwrap_or(RefusedQueue {
                waiting: 0,
                last_eta_ms: 0,
                claim_ms,
            })
        })
    }

    pub(super) fn last_snapshot(&self) -> Option<Arc<QueueSnapshot>> {
        self.last_snapshot
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}
