//! The lease of a restorer while it works.

use std::{future::Future, time::Duration};

use tokio::time::{sleep, timeout};
use uuid::Uuid;
use vestibule_backup::{Backup, LEASE, Lease, Leased, LinePart};
use vestibule_clock::now_ms;
use vestibule_domain::id::QueueId;

use crate::restore::RestoreError;

/// Between two renewals.
const RENEWAL: Duration = Duration::from_secs(3);

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
                    tracing::warn!(queue = %self.queue, %error, "the lease of a restore was not renewed yet");
                }
                Err(_) => tracing::warn!(queue = %self.queue, "the lease of a restore is renewed late"),
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
            tracing::warn!(queue = %self.queue, %error, "the lease of a restore ends by itself");
        }
    }
}
