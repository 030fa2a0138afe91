//! The state of a queue as its visitors see it.

use serde::{Deserialize, Serialize};

use crate::{
    configuration::Configuration,
    settings::{Entrance, Settings},
};

/// What a queue does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum QueueState {
    /// The queue has not opened yet: visitors may enter, and no entry is promoted before `opens_at_ms`.
    Scheduled,
    /// Visitors may enter, and entries are promoted.
    Open,
    /// Visitors may enter, and no entry is promoted.
    Paused,
    /// No new visitor may enter, and entries are promoted.
    Draining,
    /// No new visitor may enter, and no entry is promoted.
    Closed,
    /// The queue is over for all who wait, and no visitor may enter. A visitor whose turn has come may still claim, and
    /// sessions go on.
    Finished,
}

impl Settings {
    /// The state of a queue at `now_ms`, in Unix milliseconds of line time, that has not opened yet if it
    /// `is_scheduled`. To a visitor who waits, the opening to come says more than `paused` does, and `paused` more than
    /// `draining`.
    pub fn queue_state(&self, now_ms: u64, is_scheduled: bool) -> QueueState {
        match self.entrance_at(now_ms) {
            Entrance::Finished | Entrance::SoldOut | Entrance::Cancelled => QueueState::Finished,
            Entrance::Closed => QueueState::Closed,
            _ if is_scheduled => QueueState::Scheduled,
            _ if self.paused => QueueState::Paused,
            Entrance::Draining => QueueState::Draining,
            Entrance::Open => QueueState::Open,
        }
    }
}

impl Configuration {
    /// The state of the queue at `now_ms`, in Unix milliseconds of line time.
    pub fn queue_state(&self, now_ms: u64) -> QueueState {
        self.settings.queue_state(now_ms, self.is_scheduled(now_ms))
    }
}
