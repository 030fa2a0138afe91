//! The restore lease: one process at a time restores a lost queue. The lease is stored in the
//! backup beside the queue's epoch.
//!
//! Taking the lease raises the epoch, so each holder has an epoch that no other process has. The
//! epoch is the fencing token: the line rejects a configuration whose epoch is lower than the
//! highest that it has seen. A restore that was presumed dead and wakes up therefore writes in
//! vain.
//!
//! The lease only keeps two processes from doing the same work. If their clocks differ by more than
//! the lease lasts, both work, and the later epoch still wins.

use std::{
    future::Future,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::{sleep, timeout};
use uuid::Uuid;
use vestibule_backup::{Backup, BackupError, LEASE_DURATION, Lease, LeaseOutcome, QueueMetadata};
use vestibule_domain::id::QueueId;
use vestibule_telemetry::clock::now_ms;

/// The time between two renewals.
const RENEWAL_INTERVAL: Duration = Duration::from_secs(3);

/// Why this process does not hold the lease.
#[derive(Debug, thiserror::Error)]
pub(super) enum LeaseError {
    /// The backup failed to answer.
    #[error(transparent)]
    Backup(#[from] BackupError),
    /// Another process holds the lease.
    #[error("another process holds the restore lease")]
    Held,
    /// Another process has raised the epoch.
    #[error("another process raised the epoch of the queue")]
    EpochChanged,
}

/// The leases whose restores were cut off. A lease is released by a request to the backup, and a
/// future that is dropped sends none, so the process that dropped it sends the request: see
/// [`release_abandoned_lease`].
static ABANDONED: Mutex<Vec<AbandonedLease>> = Mutex::new(Vec::new());

/// A lease of a restore that was cut off.
struct AbandonedLease {
    queue: QueueId,
    epoch: u32,
    holder: Uuid,
}

/// Releases the lease of a queue if this process held it for a restore that was cut off. So the
/// next restore does not wait until the lease expires.
pub async fn release_abandoned_lease(backup: &dyn Backup, queue: &QueueId) {
    let mut abandoned = Vec::new();
    {
        let mut all = ABANDONED.lock().unwrap_or_else(PoisonError::into_inner);
        for nth in (0..all.len()).rev() {
            if all[nth].queue == *queue {
                abandoned.push(all.swap_remove(nth));
            }
        }
    }
    for lease in abandoned {
        release(backup, queue, lease.epoch, lease.holder).await;
    }
}

async fn release(backup: &dyn Backup, queue: &QueueId, epoch: u32, holder: Uuid) {
    if let Err(error) = backup.release_lease(queue, epoch, holder).await {
        tracing::warn!(
            event = "queue.restore_lease_release_failed", %queue, %error,
            "could not release the restore lease; it expires by itself within 10 seconds"
        );
    }
}

/// A lease that this process holds.
pub(super) struct HeldLease<'a> {
    backup: &'a dyn Backup,
    queue: &'a QueueId,
    /// The queue's metadata, with the epoch that taking the lease set.
    pub(super) metadata: QueueMetadata,
    holder: Uuid,
    is_released: bool,
}

impl<'a> HeldLease<'a> {
    /// Takes the lease of a queue of this epoch.
    pub(super) async fn take(
        backup: &'a dyn Backup,
        queue: &'a QueueId,
        epoch: u32,
    ) -> Result<Self, LeaseError> {
        let lease = Lease::new(Uuid::new_v4());
        match backup.take_lease(queue, epoch, lease, now_ms()).await? {
            LeaseOutcome::Taken(part) => Ok(Self {
                backup,
                queue,
                metadata: part,
                holder: lease.holder,
                is_released: false,
            }),
            LeaseOutcome::Held(_) => Err(LeaseError::Held),
            LeaseOutcome::EpochChanged => Err(LeaseError::EpochChanged),
        }
    }

    /// Runs `work` and renews the lease meanwhile. Stops when another process has taken the lease.
    /// A lease that merely expired because the backup is slow does not stop the work; otherwise a
    /// restore from a busy table would never finish.
    pub(super) async fn run_while_renewing<T, E: From<LeaseError>>(
        &self,
        work: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        tokio::select! {
            done = work => done,
            () = self.renew_until_lost() => Err(LeaseError::EpochChanged.into()),
        }
    }

    async fn renew_until_lost(&self) {
        loop {
            sleep(RENEWAL_INTERVAL).await;
            let lease = Lease::new(self.holder);
            let renewal = self.backup.renew_lease(self.queue, self.metadata.epoch, lease);
            match timeout(LEASE_DURATION, renewal).await {
                Ok(Ok(true)) => {}
                Ok(Ok(false)) => return,
                Ok(Err(error)) => {
                    tracing::warn!(
                        event = "queue.restore_lease_renewal_failed", queue = %self.queue, %error,
                        "could not renew the restore lease; the restore goes on and tries again in 3 seconds"
                    );
                }
                Err(_) => tracing::warn!(
                    event = "queue.restore_lease_renewal_timed_out", queue = %self.queue,
                    "the renewal of the restore lease timed out; the restore goes on and tries again"
                ),
            }
        }
    }

    /// Releases the lease, so that the next restore does not have to wait until it expires.
    pub(super) async fn release(mut self) {
        release(self.backup, self.queue, self.metadata.epoch, self.holder).await;
        self.is_released = true;
    }
}

impl Drop for HeldLease<'_> {
    fn drop(&mut self) {
        if !self.is_released {
            let mut abandoned = ABANDONED.lock().unwrap_or_else(PoisonError::into_inner);
            abandoned.push(AbandonedLease {
                queue: self.queue.clone(),
                epoch: self.metadata.epoch,
                holder: self.holder,
            });
        }
    }
}
