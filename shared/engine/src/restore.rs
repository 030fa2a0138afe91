//! Restores a queue that the line lost, or that the line has with stale data.
//!
//! One process restores at a time, under a lease that raises the epoch. It does so in four steps:
//!
//! 1. The line drops what it has of the queue, so that it admits no visitor by a stale order.
//! 2. The restore writes to the backup the changes that had not reached it.
//! 3. It reads all live entries from the backup.
//! 4. It puts all of them into the line in one step.
//!
//! If the process dies in between, the line does not have the queue, and the next restore begins anew.

use std::time::Duration;

use futures_util::{StreamExt, TryStreamExt, stream};
use tokio::time::{Instant, sleep};
use vestibule_backup::{Backup, BackupError, EntryPartition, StoredQueue};
use vestibule_domain::{
    change::Change,
    configuration::Configuration,
    id::{QueueId, SHARD_COUNT},
    record::EntryRecord,
    settings::Settings,
};
use vestibule_line::{ConfigureOutcome, JournalRecord, Line, LineError, RestoredEntries};
use vestibule_telemetry::clock::now_ms;

pub use super::lease::release_abandoned_lease;
use super::{
    journal_batch::{BATCH_START_WINDOW, JournalWrites},
    lease::{HeldLease, LeaseError},
    tally::read_restored_tally,
};

/// How many shards are read concurrently.
const SHARDS_AT_ONCE: usize = 8;
/// The most attempts to read one shard.
const READ_ATTEMPTS_MAX: u32 = 6;
/// The longest pause before a shard is read again. It doubles with each attempt, up to [`BACKOFF_MAX`].
const BACKOFF_FIRST: Duration = Duration::from_millis(200);
const BACKOFF_MAX: Duration = Duration::from_secs(3);
/// How many of the journal records and ends that the dropped queue left are written to the backup
/// at once.
const SALVAGE_RECORDS_MAX: usize = 100;

/// What a restore put back into the line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoreSummary {
    /// The configuration in force, with the new epoch.
    pub configuration: Configuration,
    /// The watermark that the line begins with.
    pub watermark: u64,
    /// Waiting entries.
    pub waiting: usize,
    /// Entries that were promoted and not yet claimed.
    pub ready: usize,
    /// Active entries.
    pub active: usize,
    /// Changes that only the line held and that the backup holds now.
    pub flushed_changes: usize,
}

/// Why a restore failed. It may be repeated.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// The line failed to answer.
    #[error(transparent)]
    Line(#[from] LineError),
    /// The backup could not be read or written.
    #[error(transparent)]
    Backup(#[from] BackupError),
    /// Another process holds the restore lease.
    #[error("another process is restoring this queue: try again in 10 seconds")]
    LeaseHeld,
    /// Another process restored the queue, or reset it.
    #[error(
        "another process restored or reset this queue in the meantime: see its state before you try again"
    )]
    EpochChanged,
}

impl From<LeaseError> for RestoreError {
    fn from(error: LeaseError) -> Self {
        match error {
            LeaseError::Backup(error) => error.into(),
            LeaseError::Held => Self::LeaseHeld,
            LeaseError::EpochChanged => Self::EpochChanged,
        }
    }
}

/// Restores a queue with every live entry of the backup, whatever the line has of it.
///
/// # Errors
/// [`RestoreError`]. The line then does not have the queue, or has it as another process restored it.
pub async fn restore_queue(
    line: &Line,
    backup: &dyn Backup,
    queue: &QueueId,
    stored: &StoredQueue,
    settings: &Settings,
) -> Result<RestoreSummary, RestoreError> {
    stored.require_own_layout()?;
    // The process that held the lease when the queue was read may have put the queue into the line since.
    // A process that creates a queue holds a lease, too.
    if stored
        .metadata
        .lease
        .is_some_and(|lease| lease.is_valid_at(now_ms()))
    {
        return Err(RestoreError::LeaseHeld);
    }
    let lease = HeldLease::take(backup, queue, stored.metadata.epoch).await?;
    let leased = StoredQueue {
        metadata: lease.metadata,
        ..stored.clone()
    };
    let configuration = leased.configuration(settings.clone());
    let fence = lease.metadata.watermark;
    let work = rebuild_line(line, backup, queue, configuration, fence);
    let outcome = lease.run_while_renewing(work).await;
    lease.release().await;
    outcome
}

async fn rebuild_line(
    line: &Line,
    backup: &dyn Backup,
    queue: &QueueId,
    configuration: Configuration,
    fence: u64,
) -> Result<RestoreSummary, RestoreError> {
    if !line.drop_queue(queue, configuration.epoch).await? {
        return Err(RestoreError::EpochChanged);
    }
    let partition = EntryPartition::from_configuration(queue, &configuration);
    let flushed_changes = salvage_changes(line, backup, &partition).await?;
    let mut places = read_restored_entries(backup, &partition).await?;
    places.tally = read_restored_tally(backup, queue, &configuration).await?;
    let (waiting, ready, active) = (
        places.waiting_count(),
        places.ready_count(),
        places.active_count(),
    );
    match line.restore(queue, &configuration, fence, places).await? {
        ConfigureOutcome::Created => Ok(RestoreSummary {
            configuration,
            watermark: fence,
            waiting,
            ready,
            active,
            flushed_changes,
        }),
        _ => Err(RestoreError::EpochChanged),
    }
}

/// Writes to the backup the changes of a dropped queue that only the line holds, into the partition of
/// the generation that they belong to. A change that the backup refuses while it accepts others stays
/// in the journal, so that it does not delay the restore. Returns how many changes it wrote.
///
/// # Errors
/// [`RestoreError`] if the line or the backup fails.
pub async fn salvage_changes(
    line: &Line,
    backup: &dyn Backup,
    partition: &EntryPartition,
) -> Result<usize, RestoreError> {
    let mut flushed_changes = 0;
    loop {
        let unflushed = line.unflushed(&partition.queue, SALVAGE_RECORDS_MAX).await?;
        let partition = EntryPartition {
            generation: unflushed.generation.unwrap_or(partition.generation),
            ..partition.clone()
        };
        let mut records = unflushed.records;
        records.retain(|record| record.parse_error.is_none());
        records.extend(unflushed.ends.into_iter().map(to_journal_record));
        let before = flushed_changes;
        let mut writes = JournalWrites::new(&records);
        while let Some(batch) = writes
            .write_next(backup, &partition, Instant::now() + BATCH_START_WINDOW)
            .await
        {
            line.acknowledge(&partition.queue, &batch.completed, &batch.ended)
                .await?;
            if let Some(error) = batch.postponed {
                return Err(error.into());
            }
        }
        let completed = writes.results().iter().filter(|result| result.is_complete());
        flushed_changes += completed.map(|result| result.written).sum::<usize>();
        if flushed_changes == before {
            return Ok(flushed_changes);
        }
    }
}

/// Wraps an end that is not in the backup as a journal record, so that it can be written like one.
fn to_journal_record(end: Change) -> JournalRecord {
    JournalRecord {
        // The journal has no record with this key.
        key: "0-0".to_owned(),
        changes: vec![end],
        attempts: 0,
        retry_at_ms: 0,
        parse_error: None,
    }
}

/// Reads the entries of one shard that have a place or a slot. If the backup throttles or is slow, only this shard is read
/// again, not the others. The number of attempts is bounded.
async fn read_shard(
    backup: &dyn Backup,
    partition: &EntryPartition,
    shard: u8,
) -> Result<Vec<EntryRecord>, BackupError> {
    let mut pause = BACKOFF_FIRST;
    for _ in 1..READ_ATTEMPTS_MAX {
        match backup.read_live_entries(partition, shard, now_ms()).await {
            Err(error @ (BackupError::Throttled(_) | BackupError::Unavailable(_))) => {
                tracing::warn!(
                    event = "backup.shard_read_failed", queue = %partition.queue, shard, %error,
                    "could not read a shard of entries from the backup; reading it again after a pause"
                );
                // Jitter between half of the pause and all of it.
                sleep(pause.mul_f64(0.5 + rand::random::<f64>() / 2.0)).await;
                pause = (pause * 2).min(BACKOFF_MAX);
            }
            answer => return answer,
        }
    }
    backup.read_live_entries(partition, shard, now_ms()).await
}

/// Reads every place that the backup shows, which is what a restore puts back.
///
/// # Errors
/// [`BackupError`] if the backup could not be read.
pub async fn read_restored_entries(
    backup: &dyn Backup,
    partition: &EntryPartition,
) -> Result<RestoredEntries, BackupError> {
    let shards: Vec<_> = (0..SHARD_COUNT)
        .map(|number| read_shard(backup, partition, number))
        .collect();
    stream::iter(shards)
        .buffer_unordered(SHARDS_AT_ONCE)
        .try_fold(RestoredEntries::default(), async |mut places, records| {
            for record in &records {
                places.add(record);
            }
            Ok(places)
        })
        .await
}
