//! The state of one visitor of a run.

use vestibule_crowd::{
    act::Act,
    temper::{Conduct, ConductKind},
    visitor::Visitor,
};
use vestibule_domain::{entry_status::EntryStatus, id::EntryId, state::EntryState};

use super::unix_time::to_unix_ms;
use crate::{outcome::VisitorOutcome, population::DrawnVisitor, turn_order::Attendance};

/// What comes next of a visitor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// The visitor arrives.
    Arrive,
    /// The visitor does this.
    Act(Act),
    /// The time of the held poll is up, or the server no longer serves it.
    EndHold(Act),
    /// The held poll is answered with this status: a tick has promoted the entry.
    Wake(Act, EntryStatus),
    /// A visitor with a fixed client gives up: leaves, or vanishes.
    GiveUp,
    /// Nothing any more, or nothing before the turn comes.
    None,
}

/// A poll that the server holds.
#[derive(Debug, Clone, Copy)]
pub(super) struct HeldPoll {
    pub(super) since_ms: u64,
    /// Whether the speed of the queue was not known.
    pub(super) is_at_unknown_speed: bool,
}

/// The state of a visitor. Times are milliseconds of the simulation.
pub(super) struct VisitorState {
    pub(super) id: EntryId,
    pub(super) drawn: DrawnVisitor,
    /// The visitor, from the arrival until the visit has ended.
    pub(super) visitor: Option<Box<Visitor>>,
    /// The number of visitors who entered before. `None` before the visitor has entered.
    pub(super) turn: Option<u32>,
    pub(super) step: Step,
    /// When the step is due.
    pub(super) due_ms: u64,
    pub(super) held: Option<HeldPoll>,
    /// When the visitor last checked in by a poll.
    pub(super) checked_in_at_ms: Option<u64>,
    /// Requests in a row that were not served.
    pub(super) refusals: u32,
    /// In which state the visit ended, as the backup has it.
    pub(super) ended: Option<EntryState>,
    /// Whether the visitor was let in.
    pub(super) is_admitted: bool,
    /// Whether the visit has ended, and not by a lost place.
    pub(super) has_gone: bool,
    pub(super) outcome: VisitorOutcome,
}

impl VisitorState {
    pub(super) fn new(id: EntryId, drawn: DrawnVisitor) -> Self {
        Self {
            id,
            due_ms: drawn.arrives_at_ms,
            drawn,
            visitor: None,
            turn: None,
            step: Step::Arrive,
            held: None,
            checked_in_at_ms: None,
            refusals: 0,
            ended: None,
            is_admitted: false,
            has_gone: false,
            outcome: VisitorOutcome::default(),
        }
    }

    pub(super) fn kind(&self) -> ConductKind {
        self.drawn.temper.conduct.kind()
    }

    /// When the turn came.
    pub(super) fn turn_at_ms(&self) -> Option<u64> {
        Some(self.drawn.arrives_at_ms + self.outcome.waited_ms?)
    }

    /// When the visitor gives up. `None` for one who stays in line.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Within hours.
    pub(super) fn gives_up_at_ms(&self) -> Option<u64> {
        match self.drawn.temper.conduct {
            Conduct::Vanishes { after_ms } | Conduct::Leaves { after_ms } => {
                Some(self.drawn.arrives_at_ms + after_ms.ceil() as u64)
            }
            _ => None,
        }
    }

    /// Whether the visitor is there. `presence_ms` is the time for which a check-in counts, or 0 if none is needed.
    pub(super) fn attendance(&self, now_ms: u64, presence_ms: u64) -> Attendance {
        let is_fresh = |at_ms| now_ms.saturating_sub(at_ms) < presence_ms;
        if self.has_gone || !self.is_following(now_ms) {
            Attendance::Away
        } else if presence_ms == 0 || self.checked_in_at_ms.is_some_and(is_fresh) {
            Attendance::Present
        } else {
            Attendance::Following
        }
    }

    /// Whether the visitor does as told, or asks more often.
    fn is_following(&self, now_ms: u64) -> bool {
        let is_asleep = |visitor: &Visitor| visitor.is_asleep(to_unix_ms(now_ms));
        match self.drawn.temper.conduct {
            Conduct::Vanishes { .. } => self.gives_up_at_ms().is_none_or(|at_ms| now_ms < at_ms),
            Conduct::PollsLate { .. } | Conduct::Fake => false,
            Conduct::Oversleeps { .. } => !self.visitor.as_deref().is_some_and(is_asleep),
            _ => true,
        }
    }
}
