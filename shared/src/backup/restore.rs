//! Bringing a line back that was lost, or that came back as it was some time ago.
//!
//! One process does it, by a [lease](super::lease) that raises the epoch. It has the line drop what there is, so that
//! nobody is admitted by an order that no longer stands; takes to the backup what had not got there; reads the backup; and
//! puts all of it in place at once. Killed anywhere in between it leaves a queue that the line does not have, which the next
//! one puts back.

use std::time::Duration;

use futures_util::{StreamExt, TryStreamExt, stream};
use tokio::time::sleep;

use super::{
    Backup, BackupError, Shelf, StoredQueue,
    batch::{self, Tried, batches},
    lease::Held,
};
use crate::{
    domain::{
        change::Change,
        id::{QueueId, SHARDS},
        record::Record,
        settings::Settings,
    },
    line::{Configuration, Configured, JournalRecord, Line, LineError, Places},
};

/// How many shards are read at once.
const SHARDS_AT_ONCE: usize = 8;
/// How often a shard is read.
const TRIES: u32 = 6;
/// The longest pause before a shard is read again; it doubles with each.
const PAUSE: Duration = Duration::from_millis(200);
const PAUSE_MAX: Duration = Duration::from_secs(3);
/// How much of what is left is taken to the backup at once.
const REMAINS: usize = 100;

/// What a restore brought back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// With what; the epoch is a new one.
    pub configuration: Configuration,
    /// Where the line's mark begins.
    pub fence: u64,
    /// In line.
    pub waiting: usize,
    /// Promoted and not yet claimed.
    pub ready: usize,
    /// Let in.
    pub active: usize,
    /// Changes that were left in the line and are in the backup now.
    pub salvaged: usize,
}

/// Why a restore did not come about. It may be made again.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// The line gave no answer.
    #[error(transparent)]
    Line(#[from] LineError),
    /// The backup could not be read or written.
    #[error(transparent)]
    Backup(#[from] BackupError),
    /// Somebody else is at it.
    #[error("somebody else is putting it back")]
    Held,
    /// Somebody else has done it, or begun a new generation.
    #[error("somebody else has put it back meanwhile")]
    Overtaken,
}

/// Puts a queue back with every entry that the backup shows as live, whatever the line has of it.
///
/// # Errors
/// [`RestoreError`]; the line then has no such queue, or what somebody else put back.
pub async fn restore(
    line: &dyn Line,
    backup: &dyn Backup,
    queue: &QueueId,
    stored: &StoredQueue,
    settings: &Settings,
) -> Result<Restored, RestoreError> {
    let lease = Held::take(backup, queue, stored.line.epoch).await?;
    let leased = StoredQueue {
        line: lease.part,
        ..stored.clone()
    };
    let configuration = leased.configuration(settings.clone());
    let fence = lease.part.fence;
    let work = put_back(line, backup, queue, configuration, fence);
    let outcome = lease.hold(work).await;
    lease.release().await;
    outcome
}

async fn put_back(
    line: &dyn Line,
    backup: &dyn Backup,
    queue: &QueueId,
    configuration: Configuration,
    fence: u64,
) -> Result<Restored, RestoreError> {
    if !line.forget(queue, configuration.epoch).await? {
        return Err(RestoreError::Overtaken);
    }
    let shelf = Shelf::of(queue, &configuration);
    let salvaged = salvage(line, backup, &shelf).await?;
    let places = places(backup, &shelf).await?;
    let (waiting, ready, active) = (places.waiting(), places.ready(), places.active());
    match line.restore(queue, &configuration, fence, places).await? {
        Configured::Created => Ok(Restored {
            configuration,
            fence,
            waiting,
            ready,
            active,
            salvaged,
        }),
        _ => Err(RestoreError::Overtaken),
    }
}

/// Takes what had not got to the backup there, onto the shelf of the generation that it is of. What it refuses while it
/// takes other things stays in the journal: the queue must not wait for that.
async fn salvage(line: &dyn Line, backup: &dyn Backup, shelf: &Shelf) -> Result<usize, RestoreError> {
    let mut salvaged = 0;
    loop {
        let remains = line.remains(&shelf.queue, REMAINS).await?;
        let shelf = Shelf {
            generation: remains.generation.unwrap_or(shelf.generation),
            ..shelf.clone()
        };
        let mut records = remains.records;
        records.retain(|record| record.unreadable.is_none());
        records.extend(remains.ends.into_iter().map(as_record));
        let before = salvaged;
        for batch in batches(&records) {
            let tried = batch::write(backup, &shelf, batch).await;
            let whole = tried.iter().filter(|tried| tried.is_written());
            let keys: Vec<_> = whole.map(|tried| tried.record.key.clone()).collect();
            let ended: Vec<_> = tried.iter().flat_map(Tried::endings).collect();
            line.settle(&shelf.queue, &keys, &ended).await?;
            salvaged += tried
                .iter()
                .filter(|tried| tried.is_written())
                .map(|tried| tried.written.len())
                .sum::<usize>();
            Tried::until_rest(tried)?;
        }
        if salvaged == before {
            return Ok(salvaged);
        }
    }
}

/// An end that nobody wrote, in the form of a record that the journal does not have.
fn as_record(end: Change) -> JournalRecord {
    JournalRecord {
        // No record has this key.
        key: "0-0".to_owned(),
        changes: vec![end],
        tries: 0,
        retry_at_ms: 0,
        unreadable: None,
    }
}

/// The entries of one shard. A table that throttles, or is slow, is asked again: what was read of the others is not read
/// twice. Whoever restores has a lease that ends by itself.
async fn shard(backup: &dyn Backup, shelf: &Shelf, shard: u8) -> Result<Vec<Record>, BackupError> {
    let mut pause = PAUSE;
    for _ in 1..TRIES {
        match backup.live_entries(shelf, shard).await {
            Err(error @ (BackupError::Throttled(_) | BackupError::Unavailable(_))) => {
                tracing::warn!(
                    event = "backup.shard_read_failed", queue = %shelf.queue, shard, %error,
                    "could not read a shard of entries from the backup; reading it again after a pause"
                );
                // Between half of it and all of it.
                sleep(pause.mul_f64(0.5 + rand::random::<f64>() / 2.0)).await;
                pause = (pause * 2).min(PAUSE_MAX);
            }
            answer => return answer,
        }
    }
    backup.live_entries(shelf, shard).await
}

/// Every place that the backup shows: what a restore puts back.
///
/// # Errors
/// [`BackupError`] where the backup could not be read.
pub async fn places(backup: &dyn Backup, shelf: &Shelf) -> Result<Places, BackupError> {
    let shards: Vec<_> = (0..SHARDS).map(|number| shard(backup, shelf, number)).collect();
    stream::iter(shards)
        .buffer_unordered(SHARDS_AT_ONCE)
        .try_fold(Places::default(), async |mut places, records| {
            for record in &records {
                places.add(record);
            }
            Ok(places)
        })
        .await
}
