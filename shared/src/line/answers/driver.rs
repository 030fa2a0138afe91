//! About driving the line where its promoter is away.

/// How often a queue is ticked by those who call, however many do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TickOrder {
    /// A promoter without a heartbeat for so long is away, in milliseconds: see
    /// [`away_after_ms`](crate::domain::driver::away_after_ms).
    pub away_after_ms: u64,
    /// Milliseconds between two ticks.
    pub every_ms: u64,
}
