//! The state of a queue as its visitors see it.

use serde::Serialize;

use crate::settings::{Entrance, Settings};

/// What a queue does, for visitors and for the public document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum QueueState {
    /// Visitors may enter, and entries are promoted.
    Open,
    /// Visitors may enter, and no entry is promoted.
    Paused,
    /// No new visitor may enter, and entries are promoted.
    Draining,
    /// No new visitor may enter, and no entry is promoted.
    Closed,
    /// The queue is over: no visitor may enter, and every waiting entry ends.
    Finished,
}

impl Settings {
    /// The state of the queue at `now_ms`, in Unix milliseconds of line time. `paused` says more to a
    /// visitor who waits than `draining` does.
    pub fn queue_state(&self, now_ms: u64) -> QueueState {
        match self.entrance_at(now_ms) {
            Entrance::Finished => QueueState::Finished,
            Entrance::Closed => QueueState::Closed,
            _ if self.paused => QueueState::Paused,
            Entrance::Draining => QueueState::Draining,
            Entrance::Open => QueueState::Open,
        }
    }
}
