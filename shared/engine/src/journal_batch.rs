//! Writes journal records in batches of entries, and keeps for each record what the backup
//! accepted. The flush, the retry of dead letters and the restore share this step.

use std::{
    collections::{HashMap, VecDeque},
    time::Duration,
};

use tokio::time::{Instant, timeout};
use vestibule_backup::{Backup, BackupError, EntryPartition, PutOutcome};
use vestibule_domain::{
    change::{Change, VisitEnd},
    record::EntryRecord,
};
use vestibule_line::{JournalRecord, Line, LineError};

use super::agree::{conflicting_record, settled_end};

/// The most entries in a batch.
const ENTRIES_MAX: usize = 1_000;
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

/// Succeeds if the partition is of the queue's current generation. Without this check, a flush
/// after a reset would write records of the new generation into the old partition.
///
/// # Errors
/// [`LineError::QueueNotFound`] if the generation differs: the queue that the caller knew no longer
/// exists.
pub(super) async fn require_generation(line: &Line, partition: &EntryPartition) -> Result<(), LineError> {
    let view = line.queue_view(&partition.queue).await?;
    if view.configuration.generation == partition.generation {
        Ok(())
    } else {
        Err(LineError::QueueNotFound)
    }
}

/// What became of one journal record.
pub(super) struct RecordResult<'a> {
    pub(super) record: &'a JournalRecord,
    /// How many of its changes need no further write: the backup holds them, or its record
    /// supersedes them.
    pub(super) written: usize,
    /// Changes that the backup refused although it accepts others.
    pub(super) refused: Vec<(Change, BackupError)>,
    /// Changes that no batch reached, or that the backup could not accept at the moment.
    pub(super) untried: Vec<Change>,
}

impl RecordResult<'_> {
    /// Whether no change of the record needs a further write.
    pub(super) fn is_complete(&self) -> bool {
        self.refused.is_empty() && self.untried.is_empty()
    }
}

/// What one batch did.
#[derive(Default)]
pub(super) struct BatchOutcome {
    /// The keys of records that are complete since this batch.
    pub(super) completed: Vec<String>,
    /// The ends that the line need not keep for the backup any more.
    pub(super) ended: Vec<VisitEnd>,
    /// How many changes need no further write since this batch.
    pub(super) written: usize,
    /// Changes that do not count, each with the record that states more than the line knew.
    pub(super) conflicting: Vec<(Change, EntryRecord)>,
    /// Why the backup did not take a change at the moment, if there is one.
    pub(super) postponed: Option<BackupError>,
}

/// A change, and the position of its record.
type ChangeOfRecord = (usize, Change);

/// Journal records that are being written. The changes of one entry, which are in several records,
/// are written together, so the backup gets the greatest fact of each entry once.
pub(super) struct JournalWrites<'a> {
    results: Vec<RecordResult<'a>>,
    /// The changes of each entry that are not tried yet, oldest first.
    entries: VecDeque<Vec<ChangeOfRecord>>,
}

impl<'a> JournalWrites<'a> {
    pub(super) fn new(records: &'a [JournalRecord]) -> Self {
        let mut entries: VecDeque<Vec<ChangeOfRecord>> = VecDeque::new();
        let mut entry_by_id = HashMap::new();
        for (nth, record) in records.iter().enumerate() {
            for change in &record.changes {
                let entry = *entry_by_id.entry(change.id).or_insert_with(|| {
                    entries.push_back(Vec::new());
                    entries.len() - 1
                });
                entries[entry].push((nth, *change));
            }
        }
        let new_result = |record: &'a JournalRecord| RecordResult {
            record,
            written: 0,
            refused: Vec::new(),
            untried: record.changes.clone(),
        };
        Self {
            results: records.iter().map(new_result).collect(),
            entries,
        }
    }

    /// What became of the records so far.
    pub(super) fn results(&self) -> &[RecordResult<'a>] {
        &self.results
    }

    /// Writes as many changes of the next entries as it can. Returns `None` if no entry is left. If
    /// writes failed, it then asks whether the backup accepts writes at all. If so, the failed
    /// changes themselves are at fault and count as refused. In an outage no change counts as
    /// refused. No write begins after `until`. So a caller with little time can still acknowledge
    /// what was written.
    pub(super) async fn write_next(
        &mut self,
        backup: &dyn Backup,
        partition: &EntryPartition,
        until: Instant,
    ) -> Option<BatchOutcome> {
        let count = self.entries.len().min(ENTRIES_MAX);
        let batch: Vec<_> = self.entries.drain(..count).flatten().collect();
        if batch.is_empty() {
            return None;
        }
        let changes: Vec<_> = batch.iter().map(|(_, change)| *change).collect();
        let outcomes = put_changes(backup, partition, &changes, until).await;
        let takes_writes = outcomes.iter().any(is_failure)
            && matches!(
                timeout(PROBE_TIMEOUT, backup.probe_writes(partition)).await,
                Ok(Ok(()))
            );
        let mut done = BatchOutcome::default();
        for ((nth, change), outcome) in batch.into_iter().zip(outcomes) {
            self.record_outcome(nth, change, outcome, takes_writes, &mut done);
        }
        Some(done)
    }

    fn record_outcome(
        &mut self,
        nth: usize,
        change: Change,
        outcome: Result<PutOutcome, BackupError>,
        takes_writes: bool,
        done: &mut BatchOutcome,
    ) {
        let result = &mut self.results[nth];
        match outcome {
            Ok(written) => {
                result.untried.retain(|untried| untried.id != change.id);
                result.written += 1;
                done.written += 1;
                done.ended.extend(settled_end(&change));
                if let Some(record) = conflicting_record(&written, &change) {
                    done.conflicting.push((change, record));
                }
                if result.is_complete() {
                    done.completed.push(result.record.key.clone());
                }
            }
            Err(error) if takes_writes && !matches!(error, BackupError::Throttled(_)) => {
                result.untried.retain(|untried| untried.id != change.id);
                result.refused.push((change, error));
            }
            Err(error) => {
                done.postponed.get_or_insert(error);
            }
        }
    }
}

fn is_failure(outcome: &Result<PutOutcome, BackupError>) -> bool {
    outcome
        .as_ref()
        .is_err_and(|error| !matches!(error, BackupError::Throttled(_)))
}

async fn put_changes(
    backup: &dyn Backup,
    partition: &EntryPartition,
    changes: &[Change],
    until: Instant,
) -> Vec<Result<PutOutcome, BackupError>> {
    let now = Instant::now();
    let until = until.clamp(now + BATCH_START_WINDOW_MIN, now + BATCH_START_WINDOW);
    let writes = backup.put_changes(partition, changes, until);
    timeout(BATCH_TIMEOUT, writes).await.unwrap_or_else(|_| {
        // A timeout does not tell which change is at fault, so each counts as throttled.
        let timed_out = || {
            BackupError::Throttled(format!(
                "it did not answer a batch of writes within {BATCH_TIMEOUT:?}"
            ))
        };
        changes.iter().map(|_| Err(timed_out())).collect()
    })
}
