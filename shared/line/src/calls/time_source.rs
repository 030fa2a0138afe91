//! The sources of line time, in the order in which a line falls back to them.

use std::sync::atomic::{AtomicU8, Ordering};

/// Where the time of a script comes from. Each is tried when the server refuses the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TimeSource {
    /// The script sends `TIME`.
    Script = 0,
    /// The caller sends `TIME` before the script, and passes the time in.
    Command = 1,
    /// The server tells no time at all, so the caller passes in its own clock. Line time is the same
    /// for all callers as long as their clocks agree.
    Caller = 2,
}

/// The time source of one line, which all its clones share.
#[derive(Debug, Default)]
pub(crate) struct TimeSources(AtomicU8);

impl TimeSources {
    pub(super) fn current(&self) -> TimeSource {
        match self.0.load(Ordering::Relaxed) {
            0 => TimeSource::Script,
            1 => TimeSource::Command,
            _ => TimeSource::Caller,
        }
    }

    /// Moves on from a source that the server refused.
    pub(super) fn leave(&self, refused: TimeSource) {
        let next = refused as u8 + 1;
        if self.0.fetch_max(next, Ordering::Relaxed) < next {
            tracing::warn!(
                event = "line.time_refused",
                "Redis refuses the command TIME {}; each call now gets the time from {}",
                if refused == TimeSource::Script {
                    "inside scripts"
                } else {
                    "altogether"
                },
                if refused == TimeSource::Script {
                    "a TIME before it"
                } else {
                    "the clock of its caller"
                },
            );
        }
    }
}
