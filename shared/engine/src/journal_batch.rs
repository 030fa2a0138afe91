//! Writes journal records in concurrent batches, and reports for each record what the backup accepted. The flush, the
//! retry of dead letters and the restore share this step.

use std::{collections::HashSet, time::Duration};

use tokio::time::{Instant, timeout};
use vestibule_backup::{Backup, BackupError, EntryPartition, PutOutcome};
use vestibule_domain::{
    change::{Change, VisitEnd},
    record::EntryRecord,
};
use vestibule_line::{JournalRecord, LineError, QueueLine};

use super::agree::{conflicting_record, settled_end};

/// The most changes in a batch, unless its first record alone has more.
const CHANGES_MAX: usize = 1_000;
/// No write of a batch begins after this time. Writes that finished until then count.
pub(super) const BATCH_START_WINDOW: Duration = Duration::from_secs(10);
/// Every batch begins writes for at least this long, so that a flush always makes progress.
const BATCH_START_WINDOW_MIN: Duration = Duration::from_millis(200);
/// A batch that still takes longer is abandoned.
const BATCH_TIMEOUT: Duration = Duration::from_secs(30);
/// How long the backup may take to answer whether it accepts writes.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);

/// Why a flush stopped. The changes written until then are in the backup and no longer in the journal.
#[derive(Debug, thiserror::Error)]
pub enum FlushError {
    /// The line failed to answer.
    #[error(transparent)]
    Line(#[from] LineError),
    /// The backup accepted no more changes.
    #[error(transparent)]
    Backup(#[from] BackupError),
}

/// The outcome of writing one journal record.
pub(super) struct BatchResult<'a> {
    pub(super) record: &'a JournalRecord,
    /// Changes that need no further write: the backup holds them, or its record supersedes them.
    pub(super) written: Vec<Change>,
    /// Those of `written` that do not count, each with the record that states more than the line knew.
    pub(super) conflicting: Vec<(Change, EntryRecord)>,
    /// Changes that the backup refused although it accepts others.
    pub(super) refused: Vec<(Change, BackupError)>,
    /// Changes that the batch did not reach, or that the backup could not accept at the moment.
    pub(super) postponed: Vec<(Change, BackupError)>,
}

impl BatchResult<'_> {
    /// Whether no change of the record needs a further write.
    pub(super) fn is_complete(&self) -> bool {
        self.refused.is_empty() && self.postponed.is_empty()
    }

    /// Fails with the reason of the first change that was postponed, if there is one.
    pub(super) fn fail_if_postponed(results: Vec<Self>) -> Result<(), BackupError> {
        let mut postponed = results.into_iter().flat_map(|result| result.postponed);
        postponed.next().map_or(Ok(()), |(_, error)| Err(error))
    }

    /// The ends that the line need not keep for the backup any more.
    pub(super) fn endings(&self) -> impl Iterator<Item = VisitEnd> {
        self.written.iter().filter_map(settled_end)
    }
}

/// Succeeds if the partition is of the queue's current generation. Without this check, a flush after a reset would
/// write records of the new generation into the old partition.
///
/// # Errors
/// [`LineError::QueueNotFound`] if the generation differs: the queue that the caller knew no longer exists.
pub(super) async fn require_generation(
    line: &(impl QueueLine + ?Sized),
    partition: &EntryPartition,
) -> Result<(), LineError> {
    let view = line.queue_view(&partition.queue).await?;
    if view.configuration.generation == partition.generation {
        Ok(())
    } else {
        Err(LineError::QueueNotFound)
    }
}

/// Splits records into batches. Within a batch the order of writes does not matter, because no entry occurs in two of
/// its records.
pub(super) fn split_into_batches(records: &[JournalRecord]) -> Vec<&[JournalRecord]> {
    let mut batches = Vec::new();
    let (mut from, mut ids) = (0, HashSet::new());
    for (nth, record) in records.iter().enumerate() {
        let is_full = ids.len() + record.changes.len() > CHANGES_MAX;
        if nth > from && (is_full || record.changes.iter().any(|change| ids.contains(&change.id))) {
            batches.push(&records[from..nth]);
            from = nth;
            ids.clear();
        }
        ids.extend(record.changes.iter().map(|change| change.id));
    }
    if from < records.len() {
        batches.push(&records[from..]);
    }
    batches
}

/// Writes as many changes of these records as it can. If writes failed, it then asks whether the backup accepts writes
/// at all. If so, the failed changes themselves are at fault and count as refused. In an outage no change counts as
/// refused.
/// No write begins after `until`. So a caller with little time can still acknowledge what was written.
pub(super) async fn write_batch<'a>(
    backup: &dyn Backup,
    partition: &EntryPartition,
    batch: &'a [JournalRecord],
    until: Instant,
) -> Vec<BatchResult<'a>> {
    let changes: Vec<_> = batch
        .iter()
        .flat_map(|record| record.changes.iter().copied())
        .collect();
    let now = Instant::now();
    let until = until.clamp(now + BATCH_START_WINDOW_MIN, now + BATCH_START_WINDOW);
    let writes = backup.put_changes(partition, &changes, until);
    let outcomes = timeout(BATCH_TIMEOUT, writes).await.unwrap_or_else(|_| {
        // A timeout does not tell which change is at fault, so each counts as throttled.
        let timed_out = || {
            BackupError::Throttled(format!(
                "it did not answer a batch of writes within {BATCH_TIMEOUT:?}"
            ))
        };
        changes.iter().map(|_| Err(timed_out())).collect()
    });
    let is_failure = |outcome: &Result<PutOutcome, BackupError>| {
        outcome
            .as_ref()
            .is_err_and(|error| !matches!(error, BackupError::Throttled(_)))
    };
    let takes_writes = outcomes.iter().any(is_failure)
        && matches!(
            timeout(PROBE_TIMEOUT, backup.probe_writes(partition)).await,
            Ok(Ok(()))
        );
    let mut outcomes = outcomes.into_iter();
    batch
        .iter()
        .map(|record| {
            let mut result = BatchResult {
                record,
                written: Vec::new(),
                conflicting: Vec::new(),
                refused: Vec::new(),
                postponed: Vec::new(),
            };
            for (change, outcome) in record.changes.iter().zip(outcomes.by_ref()) {
                match outcome {
                    Ok(written) => {
                        result.written.push(*change);
                        if let Some(record) = conflicting_record(&written, change) {
                            result.conflicting.push((*change, record));
                        }
                    }
                    Err(error @ BackupError::Throttled(_)) => result.postponed.push((*change, error)),
                    Err(error) if takes_writes => result.refused.push((*change, error)),
                    Err(error) => result.postponed.push((*change, error)),
                }
            }
            result
        })
        .collect()
}
