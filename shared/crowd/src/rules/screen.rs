//! What the visitor sees: the states of `web/client/src/types.ts`, as far as a program reads them.

use vestibule_domain::{estimate::Estimate, state::EntryState};

/// How far a visit has come, as the client knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The client enters, or asks about the place that it had.
    Joining,
    /// The server has answered about the entry.
    Joined,
    /// The visit has ended.
    Ended,
    /// The visitor was refused, or the place is lost.
    Failed,
}

/// How the client reaches the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Connection {
    /// The last answer is as new as it should be.
    Online,
    /// The last request failed, and is repeated.
    Retrying,
    /// No newer document has come for too long.
    Stale,
}

/// What the visitor sees.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Screen {
    /// How far the visit has come.
    pub phase: Phase,
    /// The state of the entry. `None` before the first answer. That of a visit that was finished with the queue is the last one.
    pub state: Option<EntryState>,
    /// The lowest position of the visit so far.
    pub position: Option<u64>,
    /// How many turns come before the own one.
    pub ahead: Option<u64>,
    /// Whether `ahead` is expected only.
    pub is_ahead_expected: bool,
    /// The expected wait in seconds.
    pub estimate: Option<Estimate>,
    /// Whether the entry waits and is to be asked, as far as the client knows.
    pub is_called: bool,
    /// How the client reaches the server.
    pub connection: Connection,
}
