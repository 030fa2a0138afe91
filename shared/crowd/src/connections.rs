//! A bounded number of connections for the requests of a crowd.

use tokio::sync::{Semaphore, SemaphorePermit};

use crate::act::Act;

/// Connections, of which three quarters are for polls that the server may hold, so that a claim never queues behind them.
#[derive(Debug)]
pub struct ConnectionLimit {
    short: Semaphore,
    held: Semaphore,
}

impl ConnectionLimit {
    /// At most so many, and at least one of each kind.
    pub fn new(connections: usize) -> Self {
        let short = connections.div_ceil(4).max(1);
        Self {
            short: Semaphore::new(short),
            held: Semaphore::new(connections.saturating_sub(short).max(1)),
        }
    }

    /// Waits for a connection for the request of an act.
    pub(crate) async fn acquire(&self, act: Act) -> Option<SemaphorePermit<'_>> {
        let connections = match act {
            Act::HeldPoll { .. } => &self.held,
            _ => &self.short,
        };
        // No semaphore is ever closed.
        connections.acquire().await.ok()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn a_quarter_is_kept_for_short_requests() {
        for (connections, short, held) in [(2_048, 512, 1_536), (5, 2, 3), (1, 1, 1), (0, 1, 1)] {
            let limit = ConnectionLimit::new(connections);
            let free = [&limit.short, &limit.held].map(Semaphore::available_permits);
            assert_eq!(free, [short, held], "{connections}");
        }
    }

    #[test]
    fn a_claim_does_not_queue_behind_held_polls() {
        let limit = ConnectionLimit::new(2);
        let acquire = |act| limit.acquire(act).now_or_never().flatten();
        let held = acquire(Act::HeldPoll { seconds: 5 });
        assert!(held.is_some() && acquire(Act::HeldPoll { seconds: 5 }).is_none());
        assert!(acquire(Act::Claim).is_some());
    }
}
