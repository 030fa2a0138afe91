//! Who puts a lost queue back: one process at a time, by a lease that stands in the backup beside the queue's epoch.
//!
//! Taking the lease is what raises the epoch. So whoever holds one knows an epoch that nobody else has, and the line lets
//! nothing in force that has a lower one than it has heard of: a restorer that was thought dead, and wakes up, writes in
//! vain. The lease only keeps two from working side by side; where the clocks of two processes part by more than it is
//! long, both work, and the later epoch still wins.

use std::{future::Future, time::Duration};

use tokio::time::{sleep, timeout};
use uuid::Uuid;

use super::{Backup, LinePart, restore::RestoreError};
use crate::{domain::id::QueueId, system_clock::now_ms};

/// How long a lease lasts without being renewed: a queue whose restorer died waits for so long.
pub const LEASE: Duration = Duration::from_secs(10);
/// Between two renewals.
const RENEWAL: Duration = Duration::from_secs(3);

/// The right to put a queue back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// Names this restore, and no other.
    pub holder: Uuid,
    /// When it ends by itself, by the holder's clock, in Unix milliseconds.
    pub until_ms: u64,
}

impl Lease {
    /// A lease from now on.
    pub fn new(holder: Uuid) -> Self {
        let length_ms = u64::try_from(LEASE.as_millis()).unwrap_or(u64::MAX);
        Self {
            holder,
            until_ms: now_ms().saturating_add(length_ms),
        }
    }
}

/// A lease that ends later than this from now is of a clock that is wrong: it holds nobody up. The epoch decides anyway.
pub(super) const PLAUSIBLE_MS: u64 = 60_000;

/// The answer to taking a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leased {
    /// It is taken, and the queue's part has the new epoch.
    Taken(LinePart),
    /// Somebody else has it.
    Held(Lease),
    /// The epoch is not what it was: somebody else has put the queue back, or begun it anew.
    Overtaken,
}

/// A lease that was taken.
pub(super) struct Held<'a> {
    backup: &'a dyn Backup,
    queue: &'a QueueId,
    /// As it stands since.
    pub(super) part: LinePart,
    holder: Uuid,
}

impl<'a> Held<'a> {
    /// Takes the lease of a queue that is of this epoch.
    pub(super) async fn take(
        backup: &'a dyn Backup,
        queue: &'a QueueId,
        epoch: u32,
    ) -> Result<Self, RestoreError> {
        let lease = Lease::new(Uuid::new_v4());
        match backup.take_lease(queue, epoch, lease, now_ms()).await? {
            Leased::Taken(part) => Ok(Self {
                backup,
                queue,
                part,
                holder: lease.holder,
            }),
            Leased::Held(_) => Err(RestoreError::Held),
            Leased::Overtaken => Err(RestoreError::Overtaken),
        }
    }

    /// Does something while the lease is renewed, until somebody else has taken it. One that ran out because the backup is
    /// slow is no reason to stop: whoever restores from a table that has much to do would never be done.
    pub(super) async fn hold<T>(
        &self,
        work: impl Future<Output = Result<T, RestoreError>>,
    ) -> Result<T, RestoreError> {
        tokio::select! {
            done = work => done,
            () = self.renew_until_lost() => Err(RestoreError::Overtaken),
        }
    }

    async fn renew_until_lost(&self) {
        loop {
            sleep(RENEWAL).await;
            let lease = Lease::new(self.holder);
            let renewal = self.backup.renew_lease(self.queue, self.part.epoch, lease);
            match timeout(LEASE, renewal).await {
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

    /// Gives it back, for whoever comes next not to wait for its end.
    pub(super) async fn release(self) {
        if let Err(error) = self
            .backup
            .release_lease(self.queue, self.part.epoch, self.holder)
            .await
        {
            tracing::warn!(
                event = "queue.restore_lease_release_failed", queue = %self.queue, %error,
                "could not release the restore lease; it expires by itself within 10 seconds"
            );
        }
    }
}
