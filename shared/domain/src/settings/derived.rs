//! What follows from the settings: whether entries are promoted, the pace, and times in milliseconds.

use super::{
    declaration::Settings,
    words::{Entrance, FinishReason, Mode},
};
use crate::pace::Pace;

impl Entrance {
    /// Whether no entry is promoted. Only a confirmed command brings a queue here.
    pub fn stops_promotion(self) -> bool {
        matches!(
            self,
            Self::Closed | Self::Finished | Self::SoldOut | Self::Cancelled
        )
    }
}

impl Settings {
    /// The entrance in force at `now_ms`, in Unix milliseconds of line time: never one with a reason. The script
    /// `include/entrance.lua` has the same rule.
    pub fn entrance_at(&self, now_ms: u64) -> Entrance {
        let has_passed = |at_ms: Option<u64>| at_ms.is_some_and(|at_ms| at_ms <= now_ms);
        match self.entrance {
            _ if has_passed(self.ends_at_ms) => Entrance::Finished,
            Entrance::Open if has_passed(self.closes_at_ms) => Entrance::Draining,
            Entrance::SoldOut | Entrance::Cancelled => Entrance::Finished,
            set => set,
        }
    }

    /// Why the queue is over, if it is.
    pub fn finish_reason(&self) -> FinishReason {
        match self.entrance {
            Entrance::SoldOut => FinishReason::SoldOut,
            Entrance::Cancelled => FinishReason::Cancelled,
            _ => FinishReason::Over,
        }
    }

    /// Whether the operator's switches stop the promotion at `now_ms`, in Unix milliseconds of line time.
    pub fn stops_promotion(&self, now_ms: u64) -> bool {
        self.paused || self.entrance_at(now_ms).stops_promotion()
    }

    /// Whether visitors are let in without a line, where the switches allow it.
    pub fn is_passthrough(&self) -> bool {
        self.mode == Mode::Passthrough
    }

    /// The most waiting entries that are not absent; `None` if there is no limit.
    pub fn queue_limit(&self) -> Option<u64> {
        (self.queue_limit > 0).then(|| self.queue_limit.into())
    }

    /// The most absent entries; `None` if there is no limit. An operator who limits the line alone
    /// limits the memory of the absent entries, too.
    pub fn absent_limit(&self) -> Option<u64> {
        let own = (self.absent_limit > 0).then(|| self.absent_limit.into());
        own.or_else(|| self.queue_limit())
    }

    /// The pace that the settings define.
    pub fn pace(&self) -> Pace {
        Pace {
            batch: u64::from(self.batch),
            interval_ms: u64::from(self.interval_seconds) * 1_000,
        }
    }

    /// `claim_seconds` in milliseconds.
    pub fn claim_ms(&self) -> u64 {
        u64::from(self.claim_seconds) * 1_000
    }

    /// How long a new pass is valid in a session that lasts `left_ms` more, in milliseconds.
    pub fn pass_ms(&self, left_ms: u64) -> u64 {
        match self.pass_seconds {
            0 => left_ms,
            seconds => left_ms.min(u64::from(seconds) * 1_000),
        }
    }

    /// `session_seconds` in milliseconds.
    pub fn session_ms(&self) -> u64 {
        u64::from(self.session_seconds) * 1_000
    }
}
