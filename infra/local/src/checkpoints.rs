//! An orderly stop and the start after it: the line in memory goes on with the same epochs.
//!
//! Only the line in memory and the store file together have checkpoints. A Redis keeps its queues by itself, and from a
//! table without checkpoints the line in memory is restored at each start.

use std::collections::HashMap;

use serde_json::Value;
use tracing::warn;
use vestibule_backup::{Backup, BackupError, EntryPartition};
use vestibule_backup_file::FileBackup;
use vestibule_domain::id::QueueId;
use vestibule_engine::{
    restore::{RestoreError, read_restored_entries, salvage_changes},
    sync::{SettingsPolicy, build_configuration},
};
use vestibule_line::{LineError, QueueLine};
use vestibule_line_memory::{CheckpointMismatch, MemoryLine, QueueCheckpoint};

/// Why a queue does not go on with its epoch.
#[derive(Debug, thiserror::Error)]
enum NewEpochReason {
    #[error("the last run was killed, or could not write every change")]
    NoCheckpoint,
    #[error("the checkpoint of the last run is unreadable")]
    Unreadable,
    #[error(transparent)]
    Mismatch(#[from] CheckpointMismatch),
}

/// Continues each queue that the last run stopped in order. Leaves the others, which the promoter restores with a new
/// epoch, and logs why. Removes all checkpoints from the file before the line has any queue.
///
/// # Errors
/// [`BackupError`] if the file cannot be read or written.
pub(crate) async fn continue_queues(
    line: &MemoryLine,
    file: &FileBackup,
    policy: SettingsPolicy,
) -> Result<(), BackupError> {
    let mut checkpoints: HashMap<QueueId, Value> = file.take_checkpoints().await?.into_iter().collect();
    for queue in file.list_queues().await? {
        let checkpoint = checkpoints.remove(&queue);
        if let Err(reason) = continue_queue(line, file, policy, &queue, checkpoint).await? {
            warn!(
                event = "queue.epoch_ended", %queue,
                "{reason}, so the queue is restored from the file with a new epoch; every stored place stays"
            );
        }
    }
    Ok(())
}

async fn continue_queue(
    line: &MemoryLine,
    file: &FileBackup,
    policy: SettingsPolicy,
    queue: &QueueId,
    checkpoint: Option<Value>,
) -> Result<Result<(), NewEpochReason>, BackupError> {
    let stored = match file.read_queue(queue).await {
        Ok(Some(stored)) => stored,
        // The promoter says what is wrong with the queue.
        Ok(None) | Err(BackupError::Unreadable(_)) => return Ok(Ok(())),
        Err(error) => return Err(error),
    };
    let Ok(configuration) = build_configuration(&stored, policy) else {
        return Ok(Ok(()));
    };
    if stored.require_own_layout().is_err() {
        return Ok(Ok(()));
    }
    let Some(checkpoint) = checkpoint else {
        return Ok(Err(NewEpochReason::NoCheckpoint));
    };
    let Ok(checkpoint) = serde_json::from_value::<QueueCheckpoint>(checkpoint) else {
        return Ok(Err(NewEpochReason::Unreadable));
    };
    let partition = EntryPartition::from_configuration(queue, &configuration);
    let entries = read_restored_entries(file, &partition).await?;
    let fence = stored.metadata.watermark;
    let continued = line.continue_queue(queue, &configuration, fence, &checkpoint, entries);
    Ok(continued.map_err(NewEpochReason::from))
}

/// Stops all queues, and stores a checkpoint of each whose changes are all in the file.
pub(crate) async fn stop_queues(line: &MemoryLine, file: &FileBackup) {
    let stored = async {
        let mut checkpoints = Vec::new();
        for queue in file.list_queues().await? {
            checkpoints.extend(stop_queue(line, file, queue).await);
        }
        file.store_checkpoints(checkpoints).await
    };
    if let Err(error) = stored.await {
        warn!(
            event = "store.checkpoints_failed", %error,
            "the file could not take the checkpoints of the queues, so the next start restores them with a new epoch"
        );
    }
}

/// Stops a queue. Returns its checkpoint if all its changes are in the file.
async fn stop_queue(line: &MemoryLine, file: &FileBackup, queue: QueueId) -> Option<(QueueId, Value)> {
    let view = match line.queue_view(&queue).await {
        Ok(view) => view,
        // The queue was not served.
        Err(LineError::QueueNotFound) => return None,
        Err(error) => {
            log_unflushed(&queue, &error.into());
            return None;
        }
    };
    let checkpoint = line.stop_queue(&queue)?;
    let partition = EntryPartition::from_configuration(&queue, &view.configuration);
    if let Err(error) = salvage_changes(line, file, &partition).await {
        log_unflushed(&queue, &error);
        return None;
    }
    if line.has_unflushed_changes(&queue) {
        let refused = BackupError::Unavailable("the file refused some of them".to_owned());
        log_unflushed(&queue, &refused.into());
        return None;
    }
    let checkpoint =
        serde_json::to_value(checkpoint).expect("a struct of numbers and texts serializes to JSON");
    Some((queue, checkpoint))
}

fn log_unflushed(queue: &QueueId, error: &RestoreError) {
    warn!(
        event = "queue.not_flushed", %queue, %error,
        "not every change of the queue could be written to the file, so the next start restores it with a new epoch"
    );
}
