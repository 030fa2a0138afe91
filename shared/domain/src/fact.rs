//! The order of truth: a fact is what is known of an entry at one moment, and of two facts the
//! greater one is the later one. `docs/adr/0016-one-order-of-truth.md` has the reasons.

use super::{score::Visit, state::EntryState};

/// Which turn of a visit a step belongs to. A visitor who missed the first turn may come back to
/// the old place once, within the grace, and then gets a second one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Turn {
    /// The turn that every visit gets.
    First,
    /// The turn after a missed one.
    Second,
}

impl Turn {
    /// 1 or 2.
    pub fn number(self) -> u64 {
        match self {
            Self::First => 1,
            Self::Second => 2,
        }
    }

    /// The turn with this number; `None` for any number but 1 and 2.
    pub fn new(number: u64) -> Option<Self> {
        match number {
            1 => Some(Self::First),
            2 => Some(Self::Second),
            _ => None,
        }
    }
}

/// The steps of a visit. A visit never goes back to an earlier step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// In line.
    Waiting,
    /// Promoted.
    Ready,
    /// In line again, at the old place, after a missed turn.
    WaitingAgain,
    /// Promoted for the second time.
    ReadyAgain,
    /// Admitted.
    Active,
    /// The visitor left or was evicted, and a pass of the visit can still be shown, so the slot is
    /// taken.
    Held,
    /// The visit ended.
    Ended,
}

impl Step {
    const ALL: [Self; 7] = [
        Self::Waiting,
        Self::Ready,
        Self::WaitingAgain,
        Self::ReadyAgain,
        Self::Active,
        Self::Held,
        Self::Ended,
    ];

    /// The number of the step, as stored.
    pub fn number(self) -> u64 {
        self as u64
    }

    /// The step with this number; `None` for 7 and above.
    pub fn new(number: u64) -> Option<Self> {
        Self::ALL.into_iter().find(|step| step.number() == number)
    }

    /// The step of an entry that waits for this turn.
    pub fn waiting_for(turn: Turn) -> Self {
        match turn {
            Turn::First => Self::Waiting,
            Turn::Second => Self::WaitingAgain,
        }
    }

    /// The step of an entry that has this turn.
    pub fn ready_for(turn: Turn) -> Self {
        match turn {
            Turn::First => Self::Ready,
            Turn::Second => Self::ReadyAgain,
        }
    }
}

/// What is known of an entry. The fields are compared in their order, so the greater of two facts
/// is the later one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fact {
    /// The visit.
    pub visit: Visit,
    /// The step of the visit.
    pub step: Step,
    /// The time that belongs to the step, in Unix milliseconds: the line time of the last move to
    /// another lane while waiting (0 if there was none), the claim deadline, the end of the
    /// session, the time at which a held slot becomes free, or 0 for an ended visit, so that the
    /// first end stands.
    pub step_ms: u64,
    /// Whether the time of the step ran out.
    pub is_over: bool,
}

impl Fact {
    /// An entry in line that waits for this turn.
    pub fn waiting(visit: Visit, turn: Turn) -> Self {
        Self {
            visit,
            step: Step::waiting_for(turn),
            step_ms: 0,
            is_over: false,
        }
    }

    /// The same fact of a waiting entry after an operator moved it to another lane at `moved_at_ms`, in
    /// Unix milliseconds.
    #[must_use]
    pub fn moved(self, moved_at_ms: u64) -> Self {
        Self {
            step_ms: moved_at_ms,
            ..self
        }
    }

    /// A promoted entry that must be claimed by `claim_by_ms`, in Unix milliseconds.
    pub fn ready(visit: Visit, turn: Turn, claim_by_ms: u64) -> Self {
        Self {
            visit,
            step: Step::ready_for(turn),
            step_ms: claim_by_ms,
            is_over: false,
        }
    }

    /// An admitted entry whose session ends at `session_end_ms`, in Unix milliseconds.
    pub fn active(visit: Visit, session_end_ms: u64) -> Self {
        Self {
            visit,
            step: Step::Active,
            step_ms: session_end_ms,
            is_over: false,
        }
    }

    /// A visit whose visitor left or was evicted, and whose slot is taken until `free_at_ms`, in Unix
    /// milliseconds.
    pub fn held(visit: Visit, free_at_ms: u64) -> Self {
        Self {
            visit,
            step: Step::Held,
            step_ms: free_at_ms,
            is_over: false,
        }
    }

    /// A visit that ended by being completed, left or evicted.
    pub fn ended(visit: Visit) -> Self {
        Self {
            visit,
            step: Step::Ended,
            step_ms: 0,
            is_over: false,
        }
    }

    /// The same fact after its time ran out.
    #[must_use]
    pub fn timed_out(self) -> Self {
        Self {
            is_over: true,
            ..self
        }
    }

    /// Whether the entry is in the line: waiting, ready or active.
    pub fn is_live(self) -> bool {
        !self.is_over && self.step <= Step::Active
    }

    /// Whether the entry has a place in line or a slot: it is live, or its slot was held. Whether a slot
    /// is still held depends on the time: see [`Fact::is_held_at`].
    pub fn takes_slot_or_place(self) -> bool {
        !self.is_over && self.step <= Step::Held
    }

    /// Whether the visit ended, and its slot is still taken at this time, in Unix milliseconds.
    pub fn is_held_at(self, now_ms: u64) -> bool {
        self.step == Step::Held && self.step_ms > now_ms
    }

    /// The state of a live entry; `None` if the visit ended.
    pub fn live_state(self) -> Option<EntryState> {
        if !self.is_live() {
            return None;
        }
        match self.step {
            Step::Waiting | Step::WaitingAgain => Some(EntryState::Waiting),
            Step::Ready | Step::ReadyAgain => Some(EntryState::Ready),
            Step::Active => Some(EntryState::Active),
            Step::Held | Step::Ended => None,
        }
    }

    /// The turn that the entry waits for, has or missed; `None` from the claim on.
    pub fn turn(self) -> Option<Turn> {
        match self.step {
            Step::Waiting | Step::Ready => Some(Turn::First),
            Step::WaitingAgain | Step::ReadyAgain => Some(Turn::Second),
            Step::Active | Step::Held | Step::Ended => None,
        }
    }

    /// The claim deadline of a ready entry or the session end of an active one, in Unix
    /// milliseconds, also after it ran out; `None` for any other step.
    pub fn deadline_ms(self) -> Option<u64> {
        let has_deadline = matches!(self.step, Step::Ready | Step::ReadyAgain | Step::Active);
        has_deadline.then_some(self.step_ms)
    }

    /// Whether the visitor missed the first turn, and so may come back to the old place within the
    /// grace.
    pub fn is_missed_turn(self) -> bool {
        self.is_over && self.step == Step::Ready
    }

    /// The time, in Unix milliseconds, until which a visitor who misses or missed the first turn
    /// may enter again at the old place. For a ready entry it is the time that applies if the turn
    /// runs out at its deadline.
    pub fn grace_until_ms(self, grace_seconds: u32) -> Option<u64> {
        let has_grace = grace_seconds > 0 && self.step == Step::Ready;
        has_grace.then(|| self.step_ms + u64::from(grace_seconds) * 1_000)
    }

    /// Whether two accounts of an entry say the same. The deadline of a ready entry is ignored,
    /// because it moves while the queue is paused, and starts again when the entry is restored.
    pub fn agrees_with(self, other: Self) -> bool {
        let is_ready = |fact: Self| fact.live_state() == Some(EntryState::Ready);
        let ignores_time = is_ready(self) && is_ready(other);
        self == other || (ignores_time && (self.visit, self.step) == (other.visit, other.step))
    }
}

#[cfg(test)]
mod tests;
