//! How a loss of changes is noticed: by the marks of the ticks, by another server, and by the totals.
//! `docs/adr/0017-a-line-that-went-back.md` has the reasons.

/// The mark of one call of [`Line::promote`](crate::Line::promote). Each call raises the
/// number by one, so a line that shows a lower number than before, or the same number with another
/// time, has lost changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TickMark {
    /// The epoch of the queue. A restored queue counts anew.
    pub epoch: u32,
    /// How many calls there were in this epoch.
    pub ticks: u64,
    /// The line time of the last of them, in Unix milliseconds; 0 if there was none.
    pub at_ms: u64,
}

/// What a caller of [`Line::promote`](crate::Line::promote) remembers of the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LineHistory {
    /// The latest tick that the caller has seen; `None` if it has seen none.
    pub last_tick: Option<TickMark>,
    /// Whether the caller has left a server since its last call, because the server no longer
    /// accepted writes. The new one may lack the last changes.
    pub has_changed_server: bool,
}

/// What shows that a line may have lost changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LossSign {
    /// A caller has seen a tick that the line does not have.
    LostTick,
    /// A caller has left a server that no longer accepted writes.
    ChangedServer,
    /// The [imbalance](Imbalance) differs from the one at the last check.
    Imbalance,
}

impl LossSign {
    /// The sign in words, for the log.
    pub fn name(self) -> &'static str {
        match self {
            Self::LostTick => "lost-tick",
            Self::ChangedServer => "changed-server",
            Self::Imbalance => "imbalance",
        }
    }
}

/// How the totals of a queue compare with the entries in the line. Each visit that began or
/// returned goes on or was counted when it ended, so the difference stays the same until the line
/// loses entries, or a restore sets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct Imbalance {
    /// Visits that began or returned, less those that ended, less the entries in the line.
    pub visits: i64,
    /// The same when the last consistency check began, or at the restore if there was none since.
    pub at_check: i64,
}
