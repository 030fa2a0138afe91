//! A tick promotes the entries of one queue that may go now. It writes them to the journal, and a
//! separate step [flushes](crate::flush) the journal to the backup. The steps are separate because
//! the backup may be slow, and no visitor should wait for it.

use vestibule_domain::{clock::ClockDifference, id::QueueId, pace::LimitedBy};
use vestibule_line::{Line, LineError, MinWatermark, PROMOTE_CHUNK, PromoteOrder, Promotion};

use super::tick_history::TickHistory;

/// The most calls of [`Line::promote`] in one tick. The next tick handles what is left, so
/// that one long queue does not keep the promoter from the other queues.
pub const PROMOTE_CALLS_MAX: u32 = 50;

/// The result of one tick, and the state of the queue after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TickSummary {
    /// Entries that moved from waiting to ready.
    pub promoted: u64,
    /// Ready entries that ended because they were not claimed in time.
    pub no_shows: u64,
    /// Active entries that ended with their session.
    pub expired: u64,
    /// The limit that kept the tick from promoting more entries.
    pub limited_by: LimitedBy,
    /// Waiting entries.
    pub waiting: u64,
    /// Ready entries: promoted and not yet claimed.
    pub ready: u64,
    /// Active entries.
    pub active: u64,
    /// The highest score that has been promoted.
    pub promoted_through: u64,
    /// Line time, in Unix milliseconds.
    pub now_ms: u64,
    /// Whether the clocks agree, so that the line time is trusted.
    pub clocks: ClockDifference,
    /// Whether a consistency check is due because the line may have lost changes.
    pub is_check_due: bool,
    /// Whether this tick noticed that the line may have lost changes.
    pub has_noticed_loss: bool,
}

/// Ticks one queue as the promoter and writes the heartbeat. The tick runs only if the line is at
/// least as recent as the fence. If the line lacks a tick that the process remembers in `history`,
/// it lost changes, and it sets a consistency check due.
///
/// # Errors
/// - [`LineError::QueueNotFound`] if the line has lost the queue or is older than the fence.
/// - Another [`LineError`] if the line gave no usable answer.
pub async fn tick(
    line: &Line,
    queue: &QueueId,
    fence: Option<MinWatermark>,
    history: &TickHistory,
) -> Result<TickSummary, LineError> {
    tick_with_heartbeat(line, queue, fence, history, true).await
}

/// Ticks a parked queue as the promoter. It does not write the heartbeat, so that the requests of the next
/// visitors run fallback ticks.
///
/// # Errors
/// As [`tick`].
pub async fn tick_parked_queue(
    line: &Line,
    queue: &QueueId,
    fence: Option<MinWatermark>,
    history: &TickHistory,
) -> Result<TickSummary, LineError> {
    tick_with_heartbeat(line, queue, fence, history, false).await
}

/// Ticks one queue on behalf of a request while the promoter is down. It does not write the heartbeat.
///
/// # Errors
/// As [`tick`].
pub async fn run_fallback_tick(
    line: &Line,
    queue: &QueueId,
    fence: Option<MinWatermark>,
    history: &TickHistory,
) -> Result<TickSummary, LineError> {
    tick_with_heartbeat(line, queue, fence, history, false).await
}

async fn tick_with_heartbeat(
    line: &Line,
    queue: &QueueId,
    fence: Option<MinWatermark>,
    history: &TickHistory,
    heartbeat: bool,
) -> Result<TickSummary, LineError> {
    let (mut promoted, mut no_shows, mut expired) = (0, 0, 0);
    let mut has_noticed_loss = false;
    for call in 1.. {
        let departures = line.server_departures();
        let order = PromoteOrder {
            max_entries: PROMOTE_CHUNK,
            is_promoter: heartbeat,
            min_watermark: fence,
            history: history.read(queue, departures),
        };
        let step = line.promote(queue, order).await?;
        history.record_tick(queue, step.tick, departures);
        log_loss(queue, &step);
        has_noticed_loss |= step.loss_sign.is_some();
        promoted += step.promoted;
        no_shows += step.no_shows;
        expired += step.expired;
        if !step.has_more || call == PROMOTE_CALLS_MAX {
            return Ok(TickSummary {
                promoted,
                no_shows,
                expired,
                limited_by: step.limited_by,
                waiting: step.waiting,
                ready: step.ready,
                active: step.active,
                promoted_through: step.promoted_through,
                now_ms: step.now_ms,
                clocks: step.clocks,
                is_check_due: step.is_check_due,
                has_noticed_loss,
            });
        }
    }
    unreachable!("the loop above returns at CALLS_MAX at the latest")
}

fn log_loss(queue: &QueueId, step: &Promotion) {
    if let Some(sign) = step.loss_sign {
        tracing::warn!(
            event = "line.loss_noticed", %queue, sign = sign.name(), tick = step.tick.ticks,
            "the line may have lost its last changes, for example in a failover; the promoter runs a consistency check"
        );
    }
}
