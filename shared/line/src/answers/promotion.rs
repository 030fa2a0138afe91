//! The input and the result of a promotion.

use vestibule_domain::{clock::ClockDifference, pace::LimitedBy};

use super::loss::{LineHistory, LossSign, TickMark};

/// The input of [`Line::promote`](crate::Line::promote).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PromoteOrder {
    /// The maximum number of entries to promote. One call moves at most
    /// [`PROMOTE_CHUNK`](crate::PROMOTE_CHUNK).
    pub max_entries: u64,
    /// Whether the caller is the promoter. If so, the line records its heartbeat.
    pub is_promoter: bool,
    /// The watermark that the line must have reached, if the caller knows one. A line below it has
    /// lost changes of the queue: it promotes nothing, and the call fails with
    /// [`LineError::QueueNotFound`](crate::LineError::QueueNotFound).
    pub min_watermark: Option<MinWatermark>,
    /// What the caller remembers of the line. If the line contradicts it, the line sets a
    /// consistency check due.
    pub history: LineHistory,
}

/// A watermark that the line has reached before, as the backup or a caller of `promote` knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MinWatermark {
    /// The epoch of the queue.
    pub epoch: u32,
    /// The [watermark](crate::Line::raise_watermark). The line has shown this value or a
    /// higher one.
    pub watermark: u64,
}

/// What one call of [`Line::promote`](crate::Line::promote) did, and the state of the
/// queue afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Promotion {
    /// The number of entries that became ready.
    pub promoted: u64,
    /// The number of ready entries that the line dropped because their visitors did not claim in time.
    pub no_shows: u64,
    /// The number of active entries that the line dropped at the end of their session.
    pub expired: u64,
    /// The number of waiting entries that the line dropped because their visitors were absent for
    /// too long.
    pub absences: u64,
    /// The number of waiting entries that the line dropped because they waited longer than the queue allows.
    pub overlong_waits: u64,
    /// The number of waiting entries that the line dropped because the queue is finished.
    pub dismissed: u64,
    /// The number of waiting entries that left because their visitors had closed the page.
    pub left: u64,
    /// What limited the number of promotions.
    pub limited_by: LimitedBy,
    /// Whether this call moved the maximum number of entries. The caller should call again at once.
    pub has_more: bool,
    /// The number of waiting entries, also the absent ones.
    pub waiting: u64,
    /// The number of ready entries: promoted and not yet claimed.
    pub ready: u64,
    /// The number of active entries.
    pub active: u64,
    /// The highest score promoted so far.
    pub promoted_through: u64,
    /// Line time, in Unix milliseconds.
    pub now_ms: u64,
    /// How the clocks of the server and the caller compare, so whether line time is certain.
    pub clocks: ClockDifference,
    /// The mark of this call.
    pub tick: TickMark,
    /// What this call noticed that shows a loss; `None` if nothing did.
    pub loss_sign: Option<LossSign>,
    /// Whether a consistency check is due because this call or an earlier one noticed a loss.
    pub is_check_due: bool,
}
