//! Stores the tally of a queue in the backup, and reads it again for a restore.

use std::time::Duration;

use tracing::warn;
use vestibule_backup::{Backup, BackupError};
use vestibule_domain::{configuration::Configuration, id::QueueId, tally::Tally};
use vestibule_line::{Line, LineError};

/// The least time between two tallies of a queue that are stored, over all processes.
pub const STORE_INTERVAL: Duration = Duration::from_secs(5);

/// Why a tally was not stored. The next call stores a later one.
#[derive(Debug, thiserror::Error)]
pub enum StoreTallyError {
    /// The line gave no usable answer.
    #[error(transparent)]
    Line(#[from] LineError),
    /// The backup could not be written.
    #[error(transparent)]
    Backup(#[from] BackupError),
}

/// Stores the tally of a queue, if it has changed and no process stored it within `interval`. Returns whether it did.
///
/// # Errors
/// [`StoreTallyError`]. The tally is then taken again after the interval.
pub async fn store_tally(
    line: &Line,
    backup: &dyn Backup,
    queue: &QueueId,
    interval: Duration,
) -> Result<bool, StoreTallyError> {
    let every_ms = u64::try_from(interval.as_millis()).unwrap_or(u64::MAX);
    let Some(snapshot) = line.take_tally(queue, every_ms).await? else {
        return Ok(false);
    };
    let is_stored = backup.store_tally(queue, &snapshot).await?;
    if is_stored {
        line.acknowledge_tally(queue, snapshot.version).await?;
    }
    Ok(is_stored)
}

/// Stores the tally of a queue as [`store_tally`] does, and logs a failure: the work of its caller goes on.
pub async fn try_store_tally(line: &Line, backup: &dyn Backup, queue: &QueueId, interval: Duration) {
    // A line that lost the queue has nothing to store.
    let stored = store_tally(line, backup, queue, interval).await;
    if let Err(error) = stored.or_else(ignore_lost_queue) {
        warn!(
            event = "queue.tally_store_failed",
            %queue,
            %error,
            "could not store the totals and waits of the queue; the next attempt stores them"
        );
    }
}

fn ignore_lost_queue(error: StoreTallyError) -> Result<bool, StoreTallyError> {
    match error {
        StoreTallyError::Line(LineError::QueueNotFound) => Ok(false),
        error => Err(error),
    }
}

/// Reads the tally with which a restored queue goes on. It is empty if the backup has none of this life of the queue.
///
/// # Errors
/// [`BackupError`] if the backup did not answer. A damaged tally does not keep a queue from being restored.
pub(super) async fn read_restored_tally(
    backup: &dyn Backup,
    queue: &QueueId,
    configuration: &Configuration,
) -> Result<Tally, BackupError> {
    let (generation, salt) = (configuration.generation, configuration.salt);
    match backup.read_tally(queue, Some(generation)).await {
        Ok(stored) => Ok(stored
            .filter(|stored| stored.is_of(generation, salt))
            .map(|stored| stored.tally)
            .unwrap_or_default()),
        Err(BackupError::Unreadable(reason)) => {
            warn!(
                event = "queue.tally_unreadable",
                %queue,
                reason,
                "the stored totals and waits of the queue are damaged, so the restored queue counts from zero"
            );
            Ok(Tally::default())
        }
        Err(error) => Err(error),
    }
}
