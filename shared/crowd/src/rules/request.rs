//! What the follower asks its caller to do: `web/client/src/request.ts`.

/// A request that the follower wants to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestKind {
    /// Enter the queue.
    Enter,
    /// Ask the entry, with a poll that the server may hold.
    Status {
        /// For how long, in seconds.
        hold_seconds: u32,
    },
    /// Claim the turn.
    Claim,
    /// Read the public document.
    Document,
}

/// The next request, and when to send it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NextRequest {
    /// The request.
    pub kind: RequestKind,
    /// When to send it, in milliseconds of the follower's clock. It may be past.
    pub at_ms: f64,
}
