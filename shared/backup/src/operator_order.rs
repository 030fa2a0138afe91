//! The log of the orders that operators gave to a queue.

use vestibule_domain::operator_order::OperatorOrder;

/// How many orders of a queue the log keeps.
pub const ORDERS_KEPT: usize = 200;

/// How long the backup keeps what the report of a queue shows, after its last change: 400 days, in milliseconds. That is
/// longer than any `retain_hours`, and an open queue without visitors keeps its totals for as long.
pub const REPORT_RETAIN_MS: u64 = 400 * 24 * 3_600 * 1_000;

/// The log of the orders of a queue.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OrderLog {
    /// The last orders, the oldest first. There are at most [`ORDERS_KEPT`].
    pub orders: Vec<OperatorOrder>,
    /// How many orders the queue got. The log has lost the oldest ones of them.
    pub count: u64,
}
