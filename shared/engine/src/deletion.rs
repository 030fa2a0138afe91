//! Deletes a queue: first in the backup, where a tombstone takes its place, then in the line.
//!
//! If the process dies in between, [`complete_deletion`] does the rest: the promoter calls it, a repeated command, and a
//! command that creates the queue again. The same function recognizes a queue whose items were deleted by hand in the
//! table: the backup has neither of its two items, and the line still has the queue.

use std::time::Duration;

use tracing::warn;
use vestibule_backup::{Backup, BackupError, QueueLookup, QueueMetadata};
use vestibule_domain::{id::QueueId, tombstone::Tombstone};
use vestibule_line::{Line, LineError, QueueTrace};
use vestibule_telemetry::clock::now_ms;

use super::tally::try_store_tally;

/// Why a deletion failed. It may be repeated.
#[derive(Debug, thiserror::Error)]
pub enum DeletionError {
    /// The backup failed to answer. The queue may be deleted or not.
    #[error(transparent)]
    Backup(#[from] BackupError),
    /// The queue is deleted in the backup, and the line failed to answer.
    #[error(transparent)]
    Line(#[from] LineError),
}

/// Deletes a queue with this metadata. Returns `None`, and changes nothing, if the queue has another epoch by now.
///
/// # Errors
/// [`DeletionError`]. After an error of the line, the promoter completes the deletion.
pub async fn delete_queue(
    line: &Line,
    backup: &dyn Backup,
    queue: &QueueId,
    metadata: &QueueMetadata,
) -> Result<Option<Tombstone>, DeletionError> {
    // The report outlives the queue. Without an answer of the line, it says what was stored some seconds ago.
    try_store_tally(line, backup, queue, Duration::ZERO).await;
    // The line is ahead of an old item that was written back to the table. Without an answer, the backup alone counts.
    let line_epoch = match line.find_trace(queue).await {
        Ok(QueueTrace::Queue { epoch, .. }) => epoch,
        Ok(QueueTrace::None | QueueTrace::Deleted(_)) | Err(_) => 0,
    };
    let tombstone = Tombstone::new(metadata.epoch.max(line_epoch), metadata.generation, now_ms());
    if !backup.delete_queue(queue, metadata.epoch, &tombstone).await? {
        return Ok(None);
    }
    line.delete_queue(queue, &tombstone).await?;
    Ok(Some(tombstone))
}

/// Removes from the line what it still has of a deleted queue. If the items of the queue were deleted by hand, this first
/// writes the tombstone. Returns the tombstone, above which a queue of this id begins; `None` if the queue exists, or
/// neither the backup nor the line knows it.
///
/// # Errors
/// [`DeletionError`] if the backup or the line did not answer.
pub async fn complete_deletion(
    line: &Line,
    backup: &dyn Backup,
    queue: &QueueId,
) -> Result<Option<Tombstone>, DeletionError> {
    let tombstone = match backup.look_up_queue(queue).await? {
        QueueLookup::Present(_) => return Ok(None),
        QueueLookup::Deleted(tombstone) => tombstone,
        QueueLookup::Absent => {
            let tombstone = match line.find_trace(queue).await? {
                QueueTrace::None => return Ok(None),
                QueueTrace::Deleted(tombstone) => tombstone,
                QueueTrace::Queue {
                    epoch, generation, ..
                } => Tombstone::of_items_deleted_by_hand(epoch, generation, now_ms()),
            };
            // Another process has created the queue in between, or deleted it.
            if !backup.add_tombstone(queue, &tombstone).await? {
                return Ok(None);
            }
            log_deletion_by_hand(queue, &tombstone);
            tombstone
        }
    };
    line.delete_queue(queue, &tombstone).await?;
    Ok(Some(tombstone))
}

/// Removes from the line a queue whose items were deleted by hand, for a process that may not write the table. The
/// tombstone of the line says so to every process, until a command or the promoter writes that of the backup. Does nothing
/// if the queue belongs to another backup: a process that is connected to a wrong Redis, or to a wrong table, must not
/// destroy queues that are in use.
///
/// # Errors
/// [`DeletionError`] if the backup or the line did not answer.
pub(crate) async fn delete_unstored_queue(
    line: &Line,
    backup: &dyn Backup,
    queue: &QueueId,
) -> Result<(), DeletionError> {
    let trace = line.find_trace(queue).await?;
    let QueueTrace::Queue {
        epoch,
        generation,
        is_own: true,
    } = trace
    else {
        return Ok(());
    };
    // A queue that is created from now on has an epoch above this tombstone. One that was created meanwhile is there.
    if backup.look_up_queue(queue).await? != QueueLookup::Absent {
        return Ok(());
    }
    let tombstone = Tombstone::of_items_deleted_by_hand(epoch, generation, now_ms());
    if line.delete_queue(queue, &tombstone).await? {
        log_deletion_by_hand(queue, &tombstone);
    }
    Ok(())
}

fn log_deletion_by_hand(queue: &QueueId, tombstone: &Tombstone) {
    warn!(
        event = "queue.deleted_by_hand", %queue, epoch = tombstone.epoch, generation = tombstone.generation,
        "the items of the queue were deleted from the table by hand; the queue is deleted, and its tokens and passes are \
         void"
    );
}
