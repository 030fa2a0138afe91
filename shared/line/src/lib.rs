//! The line: the live, ordered state of each queue.
//!
//! There are two implementations. `vestibule-line-redis` serves every deployment.
//! `vestibule-line-memory` serves one process on a laptop. The same conformance suite tests both.
//!
//! A line makes every decision that depends on order, pace or time. It makes each decision
//! atomically. It reads its server's clock and uses the caller's clock as a
//! [witness](vestibule_domain::clock).
//!
//! Two paths bring the line's decisions to the backup:
//!
//! - The caller writes the [`Change`](vestibule_domain::change::Change) from the answer after a
//!   request by a visitor or by the protected service.
//! - The journal is the outbox for the changes that [`PromotionLine::promote`] makes.
//!
//! Most methods take the queue as their first argument and fail with [`LineError::QueueNotFound`]
//! if the line does not have that queue. The methods of [`HoldBudget`] and [`QueueLine::ping`] take
//! no queue, and [`CallBudget::take_call`] does not need it.

mod answers;
mod call_budget;
mod closing_line;
mod entry_line;
mod eviction_line;
mod hold_budget;
mod journal_limits;
mod journal_line;
mod line_error;
mod operator_line;
mod preflight_line;
mod promotion_line;
mod queue_line;
mod recovery_line;
mod restored_entries;
mod tally_line;
mod tick_subscription;

pub use vestibule_domain::tally::QueueTotals;

pub use self::{
    answers::*,
    call_budget::CallBudget,
    closing_line::ClosingLine,
    entry_line::EntryLine,
    eviction_line::EvictionLine,
    hold_budget::HoldBudget,
    journal_limits::JournalLimits,
    journal_line::JournalLine,
    line_error::LineError,
    operator_line::OperatorLine,
    preflight_line::PreflightLine,
    promotion_line::PromotionLine,
    queue_line::{QueueLine, VIEW_AGE_MAX},
    recovery_line::RecoveryLine,
    restored_entries::RestoredEntries,
    tally_line::TallyLine,
    tick_subscription::{Subscribers, Tick, TickSubscription},
};

/// The maximum number of entries that one call of [`PromotionLine::promote`] moves or drops. A
/// longer call would delay every other caller, because the line runs one call at a time.
pub const PROMOTE_CHUNK: u64 = 1_000;

/// The maximum number of entries in one query of [`EntryLine::status_many`]. A longer list takes
/// several queries.
pub const STATUS_CHUNK: usize = 500;

/// The maximum number of entries in one order of [`EvictionLine::evict_waiting`].
pub const EVICT_CHUNK: usize = 1_000;

/// A whole line: every capability. Code that wires a process holds a `dyn Line`; a use case asks
/// for the capabilities that it needs, so that its signature shows what it may do.
pub trait Line:
    EntryLine
    + ClosingLine
    + PromotionLine
    + TallyLine
    + JournalLine
    + RecoveryLine
    + EvictionLine
    + OperatorLine
    + PreflightLine
    + HoldBudget
    + CallBudget
{
}

impl<T> Line for T where
    T: EntryLine
        + ClosingLine
        + PromotionLine
        + TallyLine
        + JournalLine
        + RecoveryLine
        + EvictionLine
        + OperatorLine
        + PreflightLine
        + HoldBudget
        + CallBudget
        + ?Sized
{
}
