//! What the promoter does in one second, done by somebody who called while it is away.

use tokio::{join, time::Instant};
use tracing::warn;

use super::tick::{Ticked, tick_in_stead};
use crate::{
    backup::{
        Backup, BackupError, Shelf,
        drain::{DrainError, drain_all},
    },
    domain::{driver::away_after_ms, id::QueueId, pace::Pace},
    line::{Fence, Line, LineError, Marked, TickOrder},
};

/// Between two ticks of a queue, in milliseconds, by however many processes: a little less than the second after which each of
/// them asks again, so that a call that takes a moment longer than the one before costs no tick.
const EVERY_MS: u64 = 900;

/// What came of an offer to drive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Driven {
    /// A tick was made, and the journal drained.
    Ticked(Ticked),
    /// The promoter is there, or somebody else has just driven.
    NotDue,
    /// The line has lost the queue, or came back as it was before the fence, or the backup has no such queue: nobody is promoted
    /// until the promoter has seen to it.
    Lost,
}

/// Why a line was not driven, or not to the end. What was promoted is in the journal.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// The line gave no answer.
    #[error(transparent)]
    Line(#[from] LineError),
    /// The backup does not say how far the line has been: it may have come back old, so nobody is promoted.
    #[error("how far the line has been is not known: {0}")]
    Unsure(BackupError),
    /// The journal was not drained.
    #[error(transparent)]
    Drain(#[from] DrainError),
}

/// Ticks a queue in the promoter's stead, where it is away and nobody else has just done so; then drains its journal until
/// `until`. It reads the fence each time, and raises it as the promoter does: a line that came back old is driven by nobody, and
/// one that comes back old later is known by what calls have done.
///
/// # Errors
/// [`DriveError`]. A drive that was cut off may be made again.
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

/// Takes the turn to tick a queue: `false` where the promoter is there, or somebody else has just had one.
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
    // First of all: somebody waits for it.
    let ticked = tick_in_stead(line, queue, Some(fence)).await?;
    let raise = async {
        if is_new && let Err(error) = backup.raise_fence(queue, part.epoch, mark).await {
            // The next one is as good.
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
