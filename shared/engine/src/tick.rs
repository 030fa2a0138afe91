//! One step for one queue: promote who may go. What that wrote into the journal, a [drain](crate::drain) takes
//! to the backup, a step of its own: the backup may be slow, and nobody's turn waits for it.

use vestibule_domain::{clock::Clocks, id::QueueId, pace::HeldBackBy};
use vestibule_line::{Fence, Line, LineError, PROMOTE_CHUNK, PromoteOrder};

/// The most calls of [`Line::promote`] in one tick: the rest is left to the next one, so that no queue keeps the
/// promoter from the others.
pub const CALLS_MAX: u32 = 50;

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
    /// The highest score promoted so far.
    pub promoted_through: u64,
    /// Line time, in Unix milliseconds.
    pub now_ms: u64,
    /// Whether it is certain.
    pub clocks: Clocks,
}

/// Ticks one queue, where its line is as far as the fence says.
///
/// # Errors
/// Where the line gave no answer; [`LineError::Unknown`] where it has lost the queue, or came back as it was before the
/// fence.
pub async fn tick(line: &dyn Line, queue: &QueueId, fence: Option<Fence>) -> Result<Ticked, LineError> {
    tick_by(line, queue, fence, true).await
}

/// The same, by somebody who called while the promoter is away: its heartbeat is left alone.
///
/// # Errors
/// As [`tick`].
pub async fn tick_in_stead(
    line: &dyn Line,
    queue: &QueueId,
    fence: Option<Fence>,
) -> Result<Ticked, LineError> {
    tick_by(line, queue, fence, false).await
}

async fn tick_by(
    line: &dyn Line,
    queue: &QueueId,
    fence: Option<Fence>,
    heartbeat: bool,
) -> Result<Ticked, LineError> {
    let order = PromoteOrder {
        asked: PROMOTE_CHUNK,
        heartbeat,
        fence,
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
                promoted_through: step.promoted_through,
                now_ms: step.now_ms,
                clocks: step.clocks,
            });
        }
    }
    unreachable!("the loop above returns at CALLS_MAX at the latest")
}
