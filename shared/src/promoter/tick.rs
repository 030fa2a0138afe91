//! One step for one queue: promote who may go, then take the journal to the backup.

use std::time::Duration;

use tokio::time::{Instant, timeout};

use crate::{
    backup::{
        Backup, Shelf,
        drain::{self, RECORDS_MAX},
    },
    domain::{id::QueueId, pace::HeldBackBy},
    line::{Line, LineError, PROMOTE_CHUNK, PromoteOrder},
};

/// The most calls of [`Line::promote`] in one tick: the rest is left to the next one, so that no queue keeps the
/// promoter from the others.
pub const CALLS_MAX: u32 = 50;
/// A promotion that takes longer is given up.
pub const PROMOTE_TIMEOUT: Duration = Duration::from_secs(5);
/// After so long a tick begins no further journal record. What is left stays in the journal.
pub const DRAIN_TIME: Duration = Duration::from_secs(2);

/// What one tick did, and how the queue stands after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ticked {
    /// Waiting to ready.
    pub promoted: u64,
    /// Ready entries dropped because nobody claimed them.
    pub no_shows: u64,
    /// Active entries dropped at the end of their session.
    pub expired: u64,
    /// What kept more from being promoted.
    pub held_back_by: HeldBackBy,
    /// In line.
    pub waiting: u64,
    /// Promoted and not yet claimed.
    pub ready: u64,
    /// Let in.
    pub active: u64,
    /// Changes taken from the journal to the backup; or why none were: the promotion stands all the same.
    pub drained: Result<usize, String>,
}

/// Ticks one queue.
///
/// # Errors
/// Where the line gave no answer. A backup that is away is no error: its part of the outcome says so.
pub async fn tick(line: &dyn Line, backup: &dyn Backup, shelf: &Shelf) -> Result<Ticked, LineError> {
    let mut ticked = timeout(PROMOTE_TIMEOUT, promote(line, &shelf.queue))
        .await
        .map_err(|_| LineError::Unavailable("it took too long".to_owned()))??;
    ticked.drained = drain(line, backup, shelf).await;
    Ok(ticked)
}

async fn promote(line: &dyn Line, queue: &QueueId) -> Result<Ticked, LineError> {
    let order = PromoteOrder {
        asked: PROMOTE_CHUNK,
        heartbeat: true,
    };
    let (mut promoted, mut no_shows, mut expired) = (0, 0, 0);
    for call in 1.. {
        let step = line.promote(queue, order).await?;
        promoted += step.promoted;
        no_shows += step.no_shows;
        expired += step.expired;
        if !step.more || call == CALLS_MAX {
            return Ok(Ticked {
                promoted,
                no_shows,
                expired,
                held_back_by: step.held_back_by,
                waiting: step.waiting,
                ready: step.ready,
                active: step.active,
                drained: Ok(0),
            });
        }
    }
    unreachable!("the loop above returns at CALLS_MAX at the latest")
}

async fn drain(line: &dyn Line, backup: &dyn Backup, shelf: &Shelf) -> Result<usize, String> {
    let until = Instant::now() + DRAIN_TIME;
    match drain::drain(line, backup, shelf, RECORDS_MAX, until).await {
        Ok(drained) => Ok(drained.changes),
        Err(error) => Err(error.to_string()),
    }
}
