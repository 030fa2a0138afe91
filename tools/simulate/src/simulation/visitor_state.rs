//! The state of one visitor, and the visitor's next step.

use vestibule_domain::id::EntryId;

use crate::{outcome::VisitorOutcome, population::Visitor, turn_order::Attendance};

/// What a visitor does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Enter the line.
    Enter,
    /// Ask for the status.
    Poll,
    /// Read the public document.
    ReadDocument,
    /// Receive the answer of a held poll whose time is up.
    EndHold,
    /// Claim the turn.
    Claim,
    /// Renew the pass.
    Renew,
    /// Be validated by the protected service.
    Validate,
    /// Complete the visit.
    Complete,
    /// Leave the line.
    Leave,
    /// Stop polling.
    Vanish,
    /// Nothing any more.
    None,
}

/// The state of a visitor. It is one struct for the sake of the processor's cache: with a million visitors, a
/// poll finds nothing of its visitor there.
pub(super) struct VisitorState {
    pub(super) id: EntryId,
    pub(super) drawn: Visitor,
    /// The number of visitors who entered before.
    pub(super) turn: u32,
    pub(super) step: Step,
    pub(super) held_since_ms: u64,
    /// Whether the poll is held, and was when the speed of the queue was not known.
    pub(super) is_held_at_unknown_speed: bool,
    /// When the visitor last checked in by a poll, in milliseconds of the simulation.
    pub(super) checked_in_at_ms: Option<u64>,
    /// Refusals in a row.
    pub(super) refusals: u32,
    pub(super) session: Session,
    pub(super) outcome: VisitorOutcome,
}

impl VisitorState {
    /// Whether the visitor is there. `presence_ms` is the time for which a check-in counts, or 0 if none is needed.
    pub(super) fn attendance(&self, now_ms: u64, presence_ms: u64) -> Attendance {
        let is_fresh = |at_ms| now_ms.saturating_sub(at_ms) < presence_ms;
        if !self.drawn.behavior.is_following(now_ms) {
            Attendance::Away
        } else if presence_ms == 0 || self.checked_in_at_ms.is_some_and(is_fresh) {
            Attendance::Present
        } else {
            Attendance::Following
        }
    }
}

/// What an active visitor has done.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Session {
    /// Whether the visitor became active, and when, in milliseconds of the simulation.
    pub(super) is_admitted: bool,
    /// See [`Session::is_admitted`].
    pub(super) since_ms: u64,
    /// How often the protected service has validated the visitor.
    pub(super) checks: u32,
    /// How often the client has renewed the pass.
    pub(super) renewals: u32,
}
