//! Removes an entry from the line whose end the backup shows and the line lost.

use vestibule_backup::{Backup, EntryPartition};
use vestibule_domain::{
    change::{Change, Event},
    entry_status::{EntryStatus, StoredPosition},
    record::EntryRecord,
};
use vestibule_line::{JournalLine, LineError, RecoveryLine, RepairOrder, RepairOutcome};

use super::{journal_batch::FlushError, write_through::write_through};

/// Removes an entry from the line, given its status there and the record of its end. It uses the
/// same step as the consistency check. If the entry no longer has this status, nothing changes.
///
/// # Errors
/// [`LineError`] if the line failed to answer.
pub async fn remove_ended(
    line: &(impl JournalLine + RecoveryLine + ?Sized),
    backup: &dyn Backup,
    partition: &EntryPartition,
    status: &EntryStatus,
    record: &EntryRecord,
) -> Result<(), LineError> {
    let repair = RepairOrder {
        id: record.id,
        observed: StoredPosition::from_status(status),
        generation: partition.generation,
        record: Some(record.clone()),
    };
    if let RepairOutcome::Ended(end) = line.repair(&partition.queue, &repair).await? {
        write_through(line, backup, partition, &end).await?;
        tracing::warn!(
            event = "entry.stale_removed", queue = %partition.queue, entry = %record.id,
            "removed an entry from Redis that DynamoDB shows as ended"
        );
    }
    Ok(())
}

/// Removes an entry from the line if the record proves that its visit has ended, that is, if both
/// refer to the same visit. Returns whether it did. `claim_ms` is the claim time in force, in
/// milliseconds.
///
/// # Errors
/// [`LineError`] if the line failed to answer.
pub async fn remove_if_ended(
    line: &(impl JournalLine + RecoveryLine + ?Sized),
    backup: &dyn Backup,
    partition: &EntryPartition,
    status: &EntryStatus,
    record: &EntryRecord,
    claim_ms: u64,
) -> Result<bool, LineError> {
    if !record.is_end_of(status, claim_ms) {
        return Ok(false);
    }
    // This is rare. The box keeps it from enlarging the future of every request.
    Box::pin(remove_ended(line, backup, partition, status, record)).await?;
    Ok(true)
}

/// Removes an entry from the line that was promoted although the backup shows that its visit had
/// ended. The flush calls it when the backup reports a conflict for the promotion. A promotion
/// names the place, and no later visit has the same place, so the record proves the end. No other
/// conflicting change proves one.
///
/// # Errors
/// [`FlushError`] if the line or the backup failed to answer.
pub(super) async fn remove_ended_promotion(
    line: &(impl JournalLine + RecoveryLine + ?Sized),
    backup: &dyn Backup,
    partition: &EntryPartition,
    change: &Change,
) -> Result<(), FlushError> {
    let Event::Promoted { score, claim_by_ms } = change.event else {
        return Ok(());
    };
    let record = backup.read_entry(partition, change.id).await?;
    if let Some(record) = record.filter(|record| record.is_end_of_place(score)) {
        let promoted = EntryStatus::Ready {
            visit: score.visit(),
            claim_by_ms,
            now_ms: change.at_ms,
        };
        remove_ended(line, backup, partition, &promoted, &record).await?;
    }
    Ok(())
}
