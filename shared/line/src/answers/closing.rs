//! The result of marking an entry whose page is closed.

/// The answer to [`Line::mark_closing`](crate::Line::mark_closing).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkClosingOutcome {
    /// The entry waits and is marked.
    Marked,
    /// Nothing changed: the entry does not wait or is in another visit, the queue does not have `leave_on_close`, or line
    /// time is uncertain.
    Ignored,
}
