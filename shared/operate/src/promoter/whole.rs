//! Every queue at once: at the start and at the end of a process that keeps its line for itself.

use tokio::time::Instant;
use vestibule_backup::{BackupError, Shelf};
use vestibule_domain::id::QueueId;
use vestibule_engine::{
    aside,
    drain::{DrainError, drain},
    sync::{SyncError, Synced, sync},
};

use super::run::{DRAIN_TIME, Promoter};

/// How many journal records one call takes to the backup at the end.
const SETTLE_RECORDS: usize = 1_000;

impl Promoter {
    /// Syncs every queue once, one after the other: at the start of a process that must not serve before.
    ///
    /// # Errors
    /// The backup's, where it cannot list its queues. What a single queue runs into is in its outcome.
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

    /// Takes everything that is in the journals to the backup: at the end of a process whose line ends with it.
    ///
    /// # Errors
    /// The first that a queue ran into, as text with the queue's name; the others are settled all the same.
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
            left => Err(format!("the backup refuses {left} records")),
        }
    }
}
