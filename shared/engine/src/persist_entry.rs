//! Persists the place of a visitor who entered, unless the visitor already has a place that the
//! line lost.

use std::{future::Future, ops::ControlFlow};

use tokio::time::{Instant, timeout_at};
use vestibule_backup::{Backup, BackupError, EntryPartition, PlacePutOutcome, PutOutcome};
use vestibule_domain::{change::Change, entry_status::EntryStatus, record::EntryRecord};
use vestibule_line::{
    EntryLine, JoinKind, JournalLine, LineError, RecoveryLine, ReplacedEntry, RestoreEntryOrder,
    RestoreEntryOutcome,
};

use super::{
    ended::remove_ended,
    stale_end::{StaleEndError, resolve_stale_end},
    write_through::{WRITE_DEADLINE, write_through},
};

/// How often the write is tried again after the code resolved what was in its way.
const ATTEMPTS_MAX: usize = 4;

/// The place that a visitor who entered has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PersistedEntry {
    /// The status of the entry. It is the earlier one if the line had lost that, or if the visitor
    /// missed the turn and returned within the grace.
    pub status: EntryStatus,
    /// Whether the backup holds the place. Otherwise only the line's journal does.
    pub durable: bool,
    /// The record, if it was written or read.
    pub record: Option<EntryRecord>,
    /// Whether the visitor got an earlier place back instead of the place that the line gave.
    pub is_restored: bool,
}

/// Writes to the backup the place that the line gave; `change` is the change that the line made for it.
///
/// - If the backup shows another live visit, the line had lost that visit. The line restores the
///   old place and drops the new one, unless the visitor gave the old place up for the new one.
/// - If the visitor missed the turn and returns within the grace, the backup stores the old place
///   first. The line then restores it.
/// - If the line remembers an end that the backup does not have yet, that end is written first.
///
/// Returns `None` if the line and the backup disagree about what has ended, or if the line had lost
/// the end of this very visit and the entry has no place now. The caller then asks the line again.
///
/// # Errors
/// [`LineError`] if neither the backup nor the line's journal accepted the change.
pub async fn persist_entry(
    line: &(impl EntryLine + JournalLine + RecoveryLine + ?Sized),
    backup: &dyn Backup,
    partition: &EntryPartition,
    join_kind: JoinKind,
    status: EntryStatus,
    change: &Change,
) -> Result<Option<PersistedEntry>, LineError> {
    let (queue, id) = (&partition.queue, change.id);
    let deadline = Instant::now() + WRITE_DEADLINE;
    let build_entry = |durable, record| PersistedEntry {
        status,
        durable,
        record,
        is_restored: false,
    };
    for _ in 0..ATTEMPTS_MAX {
        let stored = match await_before(deadline, backup.put_place(partition, change)).await {
            Ok(PlacePutOutcome::Put(PutOutcome::Stored(record))) => {
                return Ok(Some(build_entry(true, Some(record))));
            }
            Ok(PlacePutOutcome::Put(outcome @ (PutOutcome::Superseded | PutOutcome::Conflicting))) => {
                let is_older = outcome == PutOutcome::Superseded;
                return resolve_superseded_place(
                    line,
                    backup,
                    partition,
                    build_entry(is_older, None),
                    change,
                )
                .await;
            }
            // The stored visit is the one that the visitor gives up. The exception: this very
            // change has already restored it.
            Ok(PlacePutOutcome::Conflict(record))
                if join_kind == JoinKind::Requeued && record.version != change.version =>
            {
                let write = write_through(line, backup, partition, change).await?;
                return Ok(Some(build_entry(write.durable, write.record)));
            }
            Ok(PlacePutOutcome::Conflict(record)) => record,
            Err(error) => {
                tracing::warn!(
                    event = "entry.place_journaled", %queue, entry = %id, %error,
                    "the backup did not accept the place of a visitor who entered; added it to the journal instead"
                );
                line.append_to_journal(queue, change).await?;
                return Ok(Some(build_entry(false, None)));
            }
        };
        // If the visit has ended, either the line remembers the end or the backup has it. The code
        // therefore asks the line before it reads the record: an end that the line forgets in
        // between is in that record.
        if let Some(end) = line.unsettled_end(queue, id).await?
            && end.version >= stored.version
            && end.event.visit() == stored.visit
        {
            if stored.supersedes(&end) {
                match resolve_stale_end(line, backup, partition, &stored, &end).await {
                    // If the backup is unavailable, the next write reports it.
                    Ok(()) | Err(StaleEndError::Backup(_)) => continue,
                    Err(StaleEndError::Line(error)) => return Err(error),
                }
            }
            write_through(line, backup, partition, &end).await?;
            if end.version >= change.version {
                // The end is later than the change, so writing the change would have no effect. The
                // caller has to ask the line again.
                return Ok(None);
            }
            continue;
        }
        let record = match await_before(deadline, backup.read_entry(partition, id)).await {
            Ok(Some(record)) if record.is_another_live_visit(change) => record,
            // The visit ended in between, or the backup is unavailable. The next write reports which.
            _ => continue,
        };
        match restore_previous_place(line, backup, partition, record, change).await? {
            ControlFlow::Break(persisted) => return Ok(persisted),
            ControlFlow::Continue(()) => {}
        }
    }
    Ok(None)
}

/// Puts back the place that the visitor had before, which the line lost and this record still shows
/// as live. `Continue` means that the visit has ended meanwhile and the new place may be written
/// again.
async fn restore_previous_place(
    line: &(impl JournalLine + RecoveryLine + ?Sized),
    backup: &dyn Backup,
    partition: &EntryPartition,
    record: EntryRecord,
    change: &Change,
) -> Result<ControlFlow<Option<PersistedEntry>>, LineError> {
    let order = RestoreEntryOrder {
        record,
        generation: partition.generation,
        replaced: ReplacedEntry::NewVisit(change.event.visit()),
    };
    match line.restore_entry(&partition.queue, &order).await? {
        RestoreEntryOutcome::Restored { status, change } => {
            let write = write_through(line, backup, partition, &change).await?;
            if order.record.came_back_at_ms.is_some() {
                tracing::info!(
                    event = "entry.missed_turn_restored", queue = %partition.queue, entry = %change.id,
                    "gave a visitor who missed the turn and returned within the grace the old place"
                );
            } else {
                tracing::warn!(
                    event = "entry.place_restored", queue = %partition.queue, entry = %change.id,
                    "gave an entering visitor the old place, which Redis had lost and DynamoDB still shows"
                );
            }
            Ok(ControlFlow::Break(Some(PersistedEntry {
                status,
                durable: write.durable,
                record: write.record,
                is_restored: true,
            })))
        }
        // Another request restored it a moment ago.
        RestoreEntryOutcome::AlreadyLive(status) => Ok(ControlFlow::Break(Some(PersistedEntry {
            status,
            durable: status.visit() == order.record.visit,
            record: Some(order.record),
            is_restored: true,
        }))),
        RestoreEntryOutcome::SessionExpired(end) => {
            write_through(line, backup, partition, &end).await?;
            Ok(ControlFlow::Break(None))
        }
        RestoreEntryOutcome::AlreadyEnded => Ok(ControlFlow::Continue(())),
        RestoreEntryOutcome::Rejected | RestoreEntryOutcome::TicketIssued(_) => Ok(ControlFlow::Break(None)),
    }
}

/// Resolves a place that the backup did not store, because the record supersedes it. If the record
/// certainly shows the end of this visit, the line had lost that end, and the entry is removed from
/// the line. Otherwise either the backup already shows the place, or the change goes to the
/// journal, behind anything that the journal holds of a new visit.
async fn resolve_superseded_place(
    line: &(impl EntryLine + JournalLine + RecoveryLine + ?Sized),
    backup: &dyn Backup,
    partition: &EntryPartition,
    entry: PersistedEntry,
    change: &Change,
) -> Result<Option<PersistedEntry>, LineError> {
    let record = backup.read_entry(partition, change.id).await.ok().flatten();
    let record = record.filter(|record| !record.state.is_live());
    // A ready entry is identified by its claim deadline here, not by the time to claim (hence 0):
    // only the consistency check persists a ready entry through this function.
    if let Some(ended_record) = record
        .as_ref()
        .filter(|record| record.is_end_of(&entry.status, 0))
    {
        remove_ended(line, backup, partition, &entry.status, ended_record).await?;
        return Ok(None);
    }
    if !entry.durable {
        if record.is_none() {
            // The record changed since, or the backup cannot be read.
            return Ok(None);
        }
        line.append_to_journal(&partition.queue, change).await?;
    }
    Ok(Some(entry))
}

async fn await_before<T>(
    deadline: Instant,
    answer: impl Future<Output = Result<T, BackupError>>,
) -> Result<T, BackupError> {
    let late = |_| Err(BackupError::Unavailable("it did not answer in time".to_owned()));
    timeout_at(deadline, answer).await.unwrap_or_else(late)
}
