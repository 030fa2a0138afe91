//! The fallback tick: a request does the promoter's work of one second for a queue while the promoter is down.

use tokio::{join, time::Instant};
use tracing::warn;
use vestibule_backup::{Backup, BackupError, Shelf};
use vestibule_domain::{driver::away_after_ms, id::QueueId, pace::Pace};
use vestibule_line::{Fence, Line, LineError, Marked, TickOrder};

use super::tick::{Ticked, tick_in_stead};
use crate::drain::{DrainError, drain_all};

/// The least time between two fallback ticks of a queue, in milliseconds, over all processes. Each process asks
/// again after one second. The value is a little below that second, so that a request that takes a moment
/// longer than the previous one does not lose a tick.
const EVERY_MS: u64 = 900;

/// The outcome of a request's offer to run a fallback tick.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Driven {
    /// The request ticked the queue and flushed its journal.
    Ticked(Ticked),
    /// The promoter is running, or another request has just run a fallback tick.
    NotDue,
    /// The line has lost the queue, or its data is older than the fence, or the backup has no such queue. No
    /// entry is promoted until the promoter has restored the queue.
    Lost,
}

/// Why a fallback tick failed or did not finish. The entries that it promoted are in the journal.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// The line gave no usable answer.
    #[error(transparent)]
    Line(#[from] LineError),
    /// The backup did not return the fence. Without it the line may be stale, so no entry is promoted.
    #[error("the fallback tick promoted no entry, because it could not read the fence from the backup: {0}")]
    Unsure(BackupError),
    /// The journal could not be flushed.
    #[error(transparent)]
    Drain(#[from] DrainError),
}

/// Runs a fallback tick: ticks the queue if the promoter is down and no other request has just done so, and
/// then flushes the journal until `until`.
///
/// It reads the fence from the backup each time and raises it as the promoter does. A line with data older than
/// the fence is therefore never ticked by a request. If the line goes stale later, the fence shows it by the
/// work of the requests.
///
/// # Errors
/// [`DriveError`]. The call is idempotent: a fallback tick that was cut off may be repeated.
pub async fn drive(
    line: &dyn Line,
    backup: &dyn Backup,
    shelf: &Shelf,
    pace: Pace,
    until: Instant,
) -> Result<Driven, DriveError> {
    match drive_in_turn(line, backup, shelf, pace, until).await {
        Err(
            DriveError::Line(LineError::Unknown) | DriveError::Drain(DrainError::Line(LineError::Unknown)),
        ) => Ok(Driven::Lost),
        outcome => outcome,
    }
}

/// Takes the turn to run a fallback tick. Returns `false` if the promoter is running or another request has
/// just taken a turn.
///
/// # Errors
/// As [`Line::take_tick`].
pub async fn take_turn(line: &dyn Line, queue: &QueueId, pace: Pace) -> Result<bool, LineError> {
    let order = TickOrder {
        away_after_ms: away_after_ms(pace.interval_ms),
        every_ms: EVERY_MS,
    };
    line.take_tick(queue, order).await
}

async fn drive_in_turn(
    line: &dyn Line,
    backup: &dyn Backup,
    shelf: &Shelf,
    pace: Pace,
    until: Instant,
) -> Result<Driven, DriveError> {
    let queue = &shelf.queue;
    if !take_turn(line, queue, pace).await? {
        return Ok(Driven::NotDue);
    }
    let Some(stored) = backup.queue(queue).await.map_err(DriveError::Unsure)? else {
        return Ok(Driven::Lost);
    };
    let part = stored.line;
    let (mark, is_new) = match line.mark(queue, part.epoch, part.fence).await? {
        Marked::Marked(mark) => (mark, true),
        Marked::Same => (part.fence, false),
        Marked::Old | Marked::Other => return Ok(Driven::Lost),
    };
    let fence = Fence {
        epoch: part.epoch,
        mark,
    };
    // The tick comes first, because visitors wait for it.
    let ticked = tick_in_stead(line, queue, Some(fence)).await?;
    let raise = async {
        if is_new && let Err(error) = backup.raise_fence(queue, part.epoch, mark).await {
            // A failure is harmless: the next fallback tick raises the fence to the then current watermark.
            warn!(
                event = "queue.fence_raise_failed",
                %queue,
                %error,
                "could not raise the fence of the queue in the backup; the next fallback tick tries again"
            );
        }
    };
    let ((), drained) = join!(raise, drain_all(line, backup, shelf, until));
    drained?;
    Ok(Driven::Ticked(ticked))
}
