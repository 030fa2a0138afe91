//! Syncs and flushes all queues of a process that keeps its line inside the process: at its start and at its end.

use tokio::time::Instant;
use vestibule_backup::{BackupError, EntryPartition};
use vestibule_domain::id::QueueId;
use vestibule_engine::{
    dead_letter,
    flush::{FlushError, flush_journal},
    sync::{SyncError, SyncOutcome, sync_settings},
};
use vestibule_line::LineError;

use super::{queue_steps::FLUSH_TIME, run::Promoter};

/// How many journal records one flush takes to the backup at the end of the process.
const FLUSH_RECORDS_MAX: usize = 1_000;

impl Promoter {
    /// Syncs every queue once, one after the other. A process calls it at its start and serves no
    /// request before it returns.
    ///
    /// # Errors
    /// [`BackupError`] if the backup cannot list its queues. The outcome of each queue holds that
    /// queue's own error.
    pub async fn sync_all(&self) -> Result<Vec<(QueueId, Result<SyncOutcome, SyncError>)>, BackupError> {
        let listed = self.backup.list_all_queues().await?.queues;
        let queues: Vec<_> = listed.iter().map(|(queue, _)| queue.clone()).collect();
        self.registry.replace_queues(listed);
        let mut outcomes = Vec::with_capacity(queues.len());
        for queue in queues {
            let outcome = sync_settings(&self.line, &*self.backup, &queue, self.policy).await;
            self.record_sync_outcome(&queue, &outcome);
            outcomes.push((queue, outcome));
        }
        Ok(outcomes)
    }

    /// Flushes the journals of all queues to the backup and retries the dead letters. A process
    /// calls it at its end if its line ends with the process.
    ///
    /// # Errors
    /// The error of the first queue that failed, as text that starts with the queue's id. The
    /// function flushes the other queues too.
    pub async fn flush_all(&self) -> Result<(), String> {
        let mut outcome = Ok(());
        for partition in self
            .registry
            .queues()
            .iter()
            .filter_map(|queue| self.registry.partition(queue))
        {
            if let Err(problem) = self.flush_current_queue(&partition).await {
                outcome = outcome.and(Err(format!("{}: {problem}", partition.queue)));
            }
        }
        outcome
    }

    /// Flushes a queue that may have been deleted, or begun anew, since the last sync. A deleted queue has nothing to flush.
    async fn flush_current_queue(&self, partition: &EntryPartition) -> Result<(), String> {
        let queue = &partition.queue;
        let mut remaining = self.flush_queue_completely(partition).await;
        if let Err(FlushError::Line(LineError::QueueNotFound)) = remaining {
            let synced = sync_settings(&self.line, &*self.backup, queue, self.policy).await;
            remaining = match synced.map_err(|error| error.to_string())? {
                SyncOutcome::QueueRemoved => Ok(0),
                SyncOutcome::InForce { partition, .. } | SyncOutcome::Refused { partition, .. } => {
                    self.flush_queue_completely(&partition).await
                }
            };
        }
        match remaining.map_err(|error| error.to_string())? {
            0 => Ok(()),
            remaining => Err(format!(
                "{remaining} journal records could not be written to the backup"
            )),
        }
    }

    /// Returns how many records remain in the line.
    async fn flush_queue_completely(&self, partition: &EntryPartition) -> Result<u64, FlushError> {
        let (line, backup) = (&self.line, &*self.backup);
        while flush_journal(
            line,
            backup,
            partition,
            FLUSH_RECORDS_MAX,
            Instant::now() + FLUSH_TIME,
        )
        .await?
        .records
            > 0
        {}
        dead_letter::retry_dead_letters(line, backup, partition).await?;
        let view = line.queue_view(&partition.queue).await?;
        Ok(view.journal_len + view.dead_letters)
    }
}
