//! What follows from the settings: whether entries are promoted, the pace, and times in milliseconds.

use super::{declaration::Settings, words::Entrance};
use crate::pace::Pace;

impl Settings {
    /// Whether entries may be promoted or admitted on the fast track.
    pub fn can_promote(&self) -> bool {
        !self.paused && self.entrance != Entrance::Closed
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

    /// `session_seconds` in milliseconds.
    pub fn session_ms(&self) -> u64 {
        u64::from(self.session_seconds) * 1_000
    }
}
