//! The closing of a visitor's page, by which a waiting visitor leaves the line if the queue has `leave_on_close`.
//!
//! A page that closes marks its entry. A request of the visitor removes the mark, because the page was only loaded again,
//! or another tab of the visitor is open. A mark that is [`LEAVE_AFTER_CLOSE_MS`] old ends the wait at the next tick.
//! A lost mark does no harm: the visitor is absent some time later. `docs/adr/0046-leave-on-close.md` has the reasons.

use crate::score::Visit;

/// How long after the closing of the page the wait ends, in milliseconds. It is enough to load a page again.
pub const LEAVE_AFTER_CLOSE_MS: u64 = 15_000;

/// Whether a mark of this line time belongs to the visit, and not to an earlier one of the same visitor. Both times are
/// Unix milliseconds.
pub fn is_mark_of_visit(marked_at_ms: u64, visit: Visit) -> bool {
    visit.began_at_ms() <= marked_at_ms
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::score::{ERA_MS, WaitScore};

    #[test]
    fn a_mark_does_not_end_a_later_visit() {
        let visit = WaitScore::next(0, ERA_MS + 5_000).visit();
        assert!(is_mark_of_visit(ERA_MS + 5_000, visit));
        assert!(!is_mark_of_visit(ERA_MS + 4_999, visit));
    }
}
