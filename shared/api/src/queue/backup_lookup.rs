//! What the backup says of a queue that the line does not have, or while the line is unavailable.

use std::sync::{Arc, PoisonError};

use tokio::time::{Instant, timeout};
use vestibule_backup::{QueueLookup, StoredQueue};
use vestibule_domain::{id::QueueId, tombstone::Tombstone};
use vestibule_line::QueueTrace;

use super::{
    QueueCache,
    degraded_queue::{DegradedQueue, READ_TIMEOUT},
    slot::{CacheSlot, STORED_AGE_MAX, StoredAnswer},
    snapshot::QueueLookupError,
};

impl QueueCache {
    /// Returns what is known of a queue whose line is unavailable. If the backup does not answer either,
    /// this is the last snapshot that the process has.
    pub(crate) async fn degraded_queue(
        &self,
        queue: &QueueId,
    ) -> Result<Arc<DegradedQueue>, QueueLookupError> {
        let slot = self.slot(queue);
        let result = timeout(READ_TIMEOUT, self.read_stored_queue(&slot, queue)).await;
        match result.unwrap_or_else(|_| {
            Err(QueueLookupError::BackupUnavailable(
                "the backup did not answer in time".to_owned(),
            ))
        }) {
            Err(error @ QueueLookupError::BackupUnavailable(_)) => match slot.fallback.last_snapshot() {
                Some(snapshot) => Ok(Arc::new(DegradedQueue::from_snapshot(&snapshot))),
                None => Err(error),
            },
            answer => answer,
        }
    }

    async fn read_stored_queue(
        &self,
        slot: &CacheSlot,
        queue: &QueueId,
    ) -> Result<Arc<DegradedQueue>, QueueLookupError> {
        let mut stored = slot.fallback.stored.lock().await;
        if let Some((at, degraded_queue)) = &*stored
            && at.elapsed() < STORED_AGE_MAX
        {
            return degraded_queue.clone();
        }
        let at = Instant::now();
        let degraded_queue = match self.look_up_in_backup(slot, queue, false).await? {
            QueueLookup::Present(stored) => self.describe_stored_queue(slot, queue, &stored),
            QueueLookup::Deleted(tombstone) => Err(QueueLookupError::QueueDeleted(tombstone)),
            QueueLookup::Absent => Err(QueueLookupError::QueueNotFound),
        };
        *stored = Some((at, degraded_queue.clone()));
        degraded_queue
    }

    fn describe_stored_queue(&self, slot: &CacheSlot, queue: &QueueId, stored: &StoredQueue) -> StoredAnswer {
        let last_snapshot = slot.fallback.last_snapshot();
        let last_snapshot = last_snapshot.as_deref();
        let degraded_queue = DegradedQueue::from_stored_queue(queue, stored, last_snapshot, &self.root)?;
        Ok(Arc::new(degraded_queue))
    }

    /// Asks the backup why the line does not have a queue. While the queue is restored, the backup
    /// is asked once a second at most. Only the request that holds the refresh lock asks, so the
    /// answers need no lock of their own.
    pub(super) async fn read_lost_queue(&self, queue: &QueueId) -> QueueLookupError {
        let slot = self.slot(queue);
        if slot.fallback.is_recovering() {
            return QueueLookupError::Recovering;
        }
        if let Some((at, Err(deleted @ QueueLookupError::QueueDeleted(_)))) =
            &*slot.fallback.stored.lock().await
            && at.elapsed() < STORED_AGE_MAX
        {
            return deleted.clone();
        }
        let at = Instant::now();
        match self.look_up_in_backup(&slot, queue, true).await {
            Ok(QueueLookup::Present(stored)) => {
                slot.fallback.set_recovering();
                let degraded_queue = self.describe_stored_queue(&slot, queue, &stored);
                *slot.fallback.stored.lock().await = Some((at, degraded_queue));
                QueueLookupError::Recovering
            }
            Ok(QueueLookup::Deleted(tombstone)) => {
                let deleted = QueueLookupError::QueueDeleted(tombstone);
                *slot.fallback.stored.lock().await = Some((at, Err(deleted.clone())));
                deleted
            }
            Ok(QueueLookup::Absent) => QueueLookupError::QueueNotFound,
            Err(error) => error,
        }
    }

    /// Reads a queue from the backup. For a name that neither this process has seen as a queue nor the line as a deleted one,
    /// the number of reads that find nothing is limited, and the name takes no slot if there is no such queue. Requests that
    /// wait for the answer still have the slot.
    async fn look_up_in_backup(
        &self,
        slot: &CacheSlot,
        queue: &QueueId,
        is_line_up: bool,
    ) -> Result<QueueLookup, QueueLookupError> {
        let mut tombstone = None;
        if is_line_up && let Ok(QueueTrace::Deleted(of_line)) = self.line.find_trace(queue).await {
            tombstone = Some(of_line);
        }
        if slot.fallback.last_snapshot().is_some() || tombstone.is_some() {
            return self.look_up_queue(queue, tombstone).await;
        }
        let Some(lookup) = self.absent_queues.begin_lookup() else {
            self.drop_slot(queue);
            return Err(QueueLookupError::TooManyLookups);
        };
        let stored = self.look_up_queue(queue, None).await;
        if let Ok(QueueLookup::Absent) = stored {
            self.absent_queues.record_absence(queue.clone(), &lookup);
            self.drop_slot(queue);
        } else {
            self.absent_queues.release(lookup);
        }
        stored
    }

    /// Reads a queue from the backup. If its items were deleted by hand, the tombstone may be in the line alone.
    async fn look_up_queue(
        &self,
        queue: &QueueId,
        tombstone_of_line: Option<Tombstone>,
    ) -> Result<QueueLookup, QueueLookupError> {
        let stored = self.backup.look_up_queue(queue).await?;
        Ok(match (stored, tombstone_of_line) {
            (QueueLookup::Absent, Some(tombstone)) => QueueLookup::Deleted(tombstone),
            (stored, _) => stored,
        })
    }

    fn drop_slot(&self, queue: &QueueId) {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots.remove(queue);
    }
}
