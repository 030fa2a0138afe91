//! The fallback tick: a request does the promoter's work of one second for a queue while the
//! promoter is down.

use tokio::{join, time::Instant};
use tracing::warn;
use vestibule_backup::{Backup, BackupError, EntryPartition, QueueLookup};
use vestibule_domain::{fallback_tick::promoter_down_after_ms, id::QueueId, pace::Pace};
use vestibule_line::{FallbackTickOrder, Line, LineError, MinWatermark, RaiseWatermarkOutcome};

use super::{
    tick::{TickSummary, run_fallback_tick},
    tick_history::TickHistory,
};
use crate::{
    deletion::{DeletionError, delete_unstored_queue},
    flush::{FlushError, flush_journal_until},
    opening::record_opening,
    tally::{STORE_INTERVAL, try_store_tally},
};

/// The least time between two fallback ticks of a queue, in milliseconds, over all processes. Each
/// process asks again after one second. The value is a little below that second, so that a request
/// that takes a moment longer than the previous one does not lose a tick.
const FALLBACK_TICK_INTERVAL_MS: u64 = 900;

/// The outcome of a request's offer to run a fallback tick.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FallbackTickOutcome {
    /// The request ticked the queue and flushed its journal.
    Ticked(TickSummary),
    /// The promoter is running, or another request has just run a fallback tick.
    NotDue,
    /// The line has lost the queue, or its data is older than the fence, or the backup has no such
    /// queue. No entry is promoted until the promoter has restored the queue. If the queue was deleted, the line does not
    /// have it any more.
    LineNotCurrent,
}

/// Why a fallback tick failed or did not finish. The entries that it promoted are in the journal.
#[derive(Debug, thiserror::Error)]
pub enum FallbackTickError {
    /// The line gave no usable answer.
    #[error(transparent)]
    Line(#[from] LineError),
    /// The backup did not return the fence. Without it the line may be stale, so no entry is promoted.
    #[error("the fallback tick promoted no entry, because it could not read the fence from the backup: {0}")]
    FenceUnavailable(BackupError),
    /// A queue whose items were deleted by hand could not be removed from the line.
    #[error(transparent)]
    Deletion(#[from] DeletionError),
    /// The journal could not be flushed.
    #[error(transparent)]
    Flush(#[from] FlushError),
}

/// Runs a fallback tick: ticks the queue if the promoter is down and no other request has just done
/// so, and then flushes the journal until `until`.
///
/// It reads the fence from the backup each time and raises it as the promoter does. A line with
/// data older than the fence is therefore never ticked by a request. If the line goes stale later,
/// the fence shows it by the work of the requests. `history` is what the process remembers of the
/// ticks, as for [`tick`](crate::tick::tick).
///
/// # Errors
/// [`FallbackTickError`]. The call is idempotent: a fallback tick that was cut off may be repeated.
pub async fn fallback_tick(
    line: &Line,
    backup: &dyn Backup,
    partition: &EntryPartition,
    pace: Pace,
    history: &TickHistory,
    until: Instant,
) -> Result<FallbackTickOutcome, FallbackTickError> {
    match fallback_tick_in_turn(line, backup, partition, pace, history, until).await {
        Err(
            FallbackTickError::Line(LineError::QueueNotFound)
            | FallbackTickError::Flush(FlushError::Line(LineError::QueueNotFound)),
        ) => Ok(FallbackTickOutcome::LineNotCurrent),
        outcome => outcome,
    }
}

/// Takes the turn to run a fallback tick. Returns `false` if the promoter is running or another
/// request has just taken a turn.
///
/// # Errors
/// As [`Line::take_fallback_tick`].
pub async fn take_fallback_tick_turn(line: &Line, queue: &QueueId, pace: Pace) -> Result<bool, LineError> {
    let order = FallbackTickOrder {
        promoter_down_after_ms: promoter_down_after_ms(pace.interval_ms),
        every_ms: FALLBACK_TICK_INTERVAL_MS,
    };
    line.take_fallback_tick(queue, order).await
}

async fn fallback_tick_in_turn(
    line: &Line,
    backup: &dyn Backup,
    partition: &EntryPartition,
    pace: Pace,
    history: &TickHistory,
    until: Instant,
) -> Result<FallbackTickOutcome, FallbackTickError> {
    let queue = &partition.queue;
    if !take_fallback_tick_turn(line, queue, pace).await? {
        return Ok(FallbackTickOutcome::NotDue);
    }
    let found = backup
        .look_up_queue(queue)
        .await
        .map_err(FallbackTickError::FenceUnavailable)?;
    let stored = match found {
        QueueLookup::Present(stored) => stored,
        // The command that deleted the queue was killed before the line knew it.
        QueueLookup::Deleted(tombstone) => {
            line.delete_queue(queue, &tombstone).await?;
            return Ok(FallbackTickOutcome::LineNotCurrent);
        }
        QueueLookup::Absent => {
            delete_unstored_queue(line, backup, queue).await?;
            return Ok(FallbackTickOutcome::LineNotCurrent);
        }
    };
    stored
        .require_own_layout()
        .map_err(FallbackTickError::FenceUnavailable)?;
    let metadata = stored.metadata;
    let (watermark, is_new) = match line
        .raise_watermark(queue, metadata.epoch, metadata.watermark)
        .await?
    {
        RaiseWatermarkOutcome::Raised(watermark) => (watermark, true),
        RaiseWatermarkOutcome::Unchanged => (metadata.watermark, false),
        RaiseWatermarkOutcome::StaleLine | RaiseWatermarkOutcome::OtherEpoch => {
            return Ok(FallbackTickOutcome::LineNotCurrent);
        }
    };
    let fence = MinWatermark {
        epoch: metadata.epoch,
        watermark,
    };
    // The tick comes first, because visitors wait for it.
    let summary = run_fallback_tick(line, queue, Some(fence), history).await?;
    let raise = async {
        if is_new && let Err(error) = backup.raise_watermark(queue, metadata.epoch, watermark).await {
            // A failure is harmless: the next fallback tick raises the fence to the then current
            // watermark.
            warn!(
                event = "queue.fence_raise_failed",
                %queue,
                %error,
                "could not raise the fence of the queue in the backup; the next fallback tick tries again"
            );
        }
    };
    let open = async {
        if let Ok(settings) = stored.settings.parse() {
            record_opening(line, backup, queue, &stored, &settings).await;
        }
    };
    let ((), (), (), flushed) = join!(
        raise,
        open,
        try_store_tally(line, backup, queue, STORE_INTERVAL),
        flush_journal_until(line, backup, partition, until)
    );
    flushed?;
    Ok(FallbackTickOutcome::Ticked(summary))
}
