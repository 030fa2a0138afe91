//! Writing many records side by side, and telling of each what the backup took.

use std::{collections::HashSet, time::Duration};

use tokio::time::{Instant, timeout};
use vestibule_backup::{Backup, BackupError, Shelf, Written};
use vestibule_domain::change::{Change, Ending};
use vestibule_line::JournalRecord;

/// A batch has no more changes than this, unless its first record alone has.
const CHANGES_MAX: usize = 1_000;
/// After so long no further change of a batch is begun: what was written by then counts.
const BATCH_TIME: Duration = Duration::from_secs(10);
/// A batch that takes longer all the same is given up.
const BATCH_TIMEOUT: Duration = Duration::from_secs(30);
/// How long the backup may take to say that it takes writes.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// What came of a record.
pub(super) struct Tried<'a> {
    pub(super) record: &'a JournalRecord,
    /// What the backup has now, or knows better.
    pub(super) written: Vec<Change>,
    /// Of these, what it knows better.
    pub(super) overruled: Vec<Change>,
    /// What it refused although it takes others.
    pub(super) refused: Vec<(Change, BackupError)>,
    /// What it did not come to, or could not take at the moment.
    pub(super) rest: Vec<(Change, BackupError)>,
}

impl Tried<'_> {
    /// Whether the backup has all of it.
    pub(super) fn is_written(&self) -> bool {
        self.refused.is_empty() && self.rest.is_empty()
    }

    /// Why the backup did not come to all of them, where it did not.
    pub(super) fn until_rest(tried: Vec<Self>) -> Result<(), BackupError> {
        let mut rest = tried.into_iter().flat_map(|tried| tried.rest);
        rest.next().map_or(Ok(()), |(_, error)| Err(error))
    }

    /// The ends that the backup has now.
    pub(super) fn endings(&self) -> impl Iterator<Item = Ending> {
        self.written.iter().filter_map(Change::ending)
    }
}

/// Cuts records into batches that may be written in any order: no entry is twice in one.
pub(super) fn batches(records: &[JournalRecord]) -> Vec<&[JournalRecord]> {
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

/// Writes what it can of these records. Whether a change is at fault, or the backup, is seen by whether that takes writes
/// after it failed: an outage refuses nothing.
pub(super) async fn write<'a>(
    backup: &dyn Backup,
    shelf: &Shelf,
    batch: &'a [JournalRecord],
) -> Vec<Tried<'a>> {
    let changes: Vec<_> = batch
        .iter()
        .flat_map(|record| record.changes.iter().copied())
        .collect();
    let writing = backup.write_each(shelf, &changes, Instant::now() + BATCH_TIME);
    let outcomes = timeout(BATCH_TIMEOUT, writing).await.unwrap_or_else(|_| {
        // Nobody knows which of them is at fault.
        let late = || BackupError::Throttled(format!("no answer within {BATCH_TIMEOUT:?}"));
        changes.iter().map(|_| Err(late())).collect()
    });
    let is_failure = |outcome: &Result<Written, BackupError>| {
        outcome
            .as_ref()
            .is_err_and(|error| !matches!(error, BackupError::Throttled(_)))
    };
    let takes_writes = outcomes.iter().any(is_failure)
        && matches!(
            timeout(ANSWER_WITHIN, backup.takes_writes(shelf)).await,
            Ok(Ok(()))
        );
    let mut outcomes = outcomes.into_iter();
    batch
        .iter()
        .map(|record| {
            let mut tried = Tried {
                record,
                written: Vec::new(),
                overruled: Vec::new(),
                refused: Vec::new(),
                rest: Vec::new(),
            };
            for (change, outcome) in record.changes.iter().zip(outcomes.by_ref()) {
                match outcome {
                    Ok(written) => {
                        tried.written.push(*change);
                        if written == Written::Overruled {
                            tried.overruled.push(*change);
                        }
                    }
                    Err(error @ BackupError::Throttled(_)) => tried.rest.push((*change, error)),
                    Err(error) if takes_writes => tried.refused.push((*change, error)),
                    Err(error) => tried.rest.push((*change, error)),
                }
            }
            tried
        })
        .collect()
}
