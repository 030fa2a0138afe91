//! The closing of a visitor's page, by which a waiting visitor leaves the line if the queue has `leave_on_close`.
//!
//! A page that closes marks its entry. A request of the visitor removes the mark, because the page was only loaded again,
//! or another tab of the visitor is open. A mark that is [`LEAVE_AFTER_CLOSE_MS`] old ends the wait at the next tick.
//! A lost mark does no harm: the visitor is absent some time later. `docs/adr/0046-leave-on-close.md` has the reasons.

/// How long after the closing of the page the wait ends, in milliseconds. It is enough to load a page again.
pub const LEAVE_AFTER_CLOSE_MS: u64 = 15_000;
