//! The state of one visitor, and the visitor's next step.

use vestibule_domain::id::EntryId;

use crate::{outcome::VisitorOutcome, population::Visitor};

/// What a visitor does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Enter the line.
    Enter,
    /// Ask for the status.
    Poll,
    /// Receive the answer of a held poll whose time is up.
    EndHold,
    /// Claim the turn.
    Claim,
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
    /// Refusals in a row.
    pub(super) refusals: u32,
    pub(super) outcome: VisitorOutcome,
}
