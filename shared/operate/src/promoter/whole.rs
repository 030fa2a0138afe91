//! Syncs and flushes all queues of a process that keeps its line in memory: at its start and at its end.

use tokio::time::Instant;
use vestibule_backup::{BackupError, Shelf};
use vestibule_domain::id::QueueId;
use vestibule_engine::{
    aside,
    drain::{DrainError, drain},
    sync::{SyncError, Synced, sync},
};

use super::run::{DRAIN_TIME, Promoter};

/// How many journal records one flush takes to the backup at the end of the process.
const SETTLE_RECORDS: usize = 1_000;

impl Promoter {
    /// Syncs every queue once, one after the other. A process calls it at its start and serves no request
    /// before it returns.
    ///
    /// # Errors
    /// [`BackupError`] if the backup cannot list its queues. The outcome of each queue holds that queue's own
    /// error.
    pub async fn sync_all(&self) -> Result<Vec<(QueueId, Result<Synced, SyncError>)>, BackupError> {
        let queues = self.backup.queues().await?;
        self.known.listed(queues.clone());
        let mut outcomes = Vec::with_capacity(queues.len());
        for queue in queues {
            let outcome = sync(&*self.line, &*self.backup, &queue, self.policy).await;
            self.take_over(&queue, &outcome);
            outcomes.push((queue, outcome));
        }
        Ok(outcomes)
    }

    /// Flushes the journals of all queues to the backup and retries the dead letters. A process calls it at its
    /// end if its line ends with the process.
    ///
    /// # Errors
    /// The error of the first queue that failed, as text that starts with the queue's id. The function flushes
    /// the other queues too.
    pub async fn settle_all(&self) -> Result<(), String> {
        let mut outcome = Ok(());
        for shelf in self
            .known
            .queues()
            .iter()
            .filter_map(|queue| self.known.shelf(queue))
        {
            if let Err(trouble) = self.settle(&shelf).await {
                outcome = outcome.and(Err(format!("{}: {trouble}", shelf.queue)));
            }
        }
        outcome
    }

    async fn settle(&self, shelf: &Shelf) -> Result<(), String> {
        let (line, backup) = (&*self.line, &*self.backup);
        let settled = async {
            while drain(line, backup, shelf, SETTLE_RECORDS, Instant::now() + DRAIN_TIME)
                .await?
                .records
                > 0
            {}
            aside::retry(line, backup, shelf).await?;
            Ok::<_, DrainError>(line.view(&shelf.queue).await?)
        };
        let view = settled.await.map_err(|error| error.to_string())?;
        match view.journal + view.aside {
            0 => Ok(()),
            left => Err(format!(
                "{left} journal records could not be written to the backup"
            )),
        }
    }
}
