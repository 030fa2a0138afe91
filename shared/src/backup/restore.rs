//! Bringing a line back that was lost.

use futures_util::{StreamExt, TryStreamExt, stream};

use super::{Backup, BackupError, Shelf};
use crate::{
    domain::{
        id::{QueueId, SHARDS},
        record::Record,
        state::State,
    },
    line::{Configuration, Configured, Line, LineError},
};

/// How many shards are read at once.
const SHARDS_AT_ONCE: usize = 8;

/// What a restore found in the backup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Restored {
    /// Whether it was put in force: where the line had the queue by then, nothing changed.
    pub configured: Configured,
    /// In line.
    pub waiting: usize,
    /// Promoted and not yet claimed.
    pub ready: usize,
    /// Let in.
    pub active: usize,
}

/// Why a restore did not come about. It may be made again.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// The line gave no answer.
    #[error(transparent)]
    Line(#[from] LineError),
    /// The backup could not be read.
    #[error(transparent)]
    Backup(#[from] BackupError),
}

/// Puts back a queue that the line does not have, with every entry that the backup shows as live.
///
/// # Errors
/// [`RestoreError`] where the backup could not be read or the line gave no answer.
pub async fn restore(
    line: &dyn Line,
    backup: &dyn Backup,
    queue: &QueueId,
    configuration: &Configuration,
) -> Result<Restored, RestoreError> {
    let shelf = Shelf::of(queue, configuration);
    let reads: Vec<_> = (0..SHARDS)
        .map(|shard| backup.live_entries(&shelf, shard))
        .collect();
    let entries: Vec<Record> = stream::iter(reads)
        .buffer_unordered(SHARDS_AT_ONCE)
        .try_concat()
        .await?;
    let configured = line.restore(queue, configuration, &entries).await?;
    let count = |state| entries.iter().filter(|record| record.state == state).count();
    Ok(Restored {
        configured,
        waiting: count(State::Waiting),
        ready: count(State::Ready),
        active: count(State::Active),
    })
}
