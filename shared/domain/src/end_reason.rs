//! How a visit ended.

use std::borrow::Cow;

use super::{
    consumption::Consumption,
    fact::{Fact, Step},
    state::EntryState,
};

/// The ways in which a visit ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndReason {
    /// The visit was completed.
    Completed,
    /// The visit was completed by a validation that consumed it under an id. The state of the entry
    /// is completed.
    Consumed(Consumption),
    /// The visitor left.
    Left,
    /// An operator removed the entry.
    Evicted,
    /// The visitor did not claim in time after the promotion. The state of the entry is expired.
    NoShow,
    /// The session ran out.
    Expired,
    /// The visitor was absent for too long while waiting. The state of the entry is expired.
    Absence,
    /// The wait lasted longer than the queue allows. The state of the entry is expired.
    OverlongWait,
    /// The queue was finished while the visitor waited. It is a timeout of the wait, so that a turn which
    /// the line has lost counts for more.
    Dismissed,
}

impl EndReason {
    /// All ways in which a visit ends, except those that contain a consumption.
    pub const ALL: [Self; 8] = [
        Self::Completed,
        Self::Left,
        Self::Evicted,
        Self::NoShow,
        Self::Expired,
        Self::Absence,
        Self::OverlongWait,
        Self::Dismissed,
    ];

    /// The name of the end in the line: one word without spaces.
    pub fn name(self) -> Cow<'static, str> {
        match self {
            Self::NoShow => "no-show".into(),
            Self::Absence => "absence".into(),
            Self::OverlongWait => "overlong-wait".into(),
            Self::Consumed(consumption) => consumption.to_string().into(),
            Self::Completed | Self::Left | Self::Evicted | Self::Expired | Self::Dismissed => {
                self.state().name().into()
            }
        }
    }

    /// Parses the output of [`EndReason::name`]; `None` for any other text.
    pub fn from_name(name: &str) -> Option<Self> {
        let consumed = Consumption::from_word(name).map(Self::Consumed);
        consumed.or_else(|| Self::ALL.into_iter().find(|how| how.name() == name))
    }

    /// Whether the time of a step ran out: see [`Fact::is_over`].
    pub fn is_timeout(self) -> bool {
        matches!(
            self,
            Self::NoShow | Self::Expired | Self::Absence | Self::OverlongWait | Self::Dismissed
        )
    }

    /// How the visit was consumed; `None` if it ended in another way.
    pub fn consumption(self) -> Option<Consumption> {
        match self {
            Self::Consumed(consumption) => Some(consumption),
            _ => None,
        }
    }

    /// The state of an entry that ended in this way.
    pub fn state(self) -> EntryState {
        match self {
            Self::Completed | Self::Consumed(_) => EntryState::Completed,
            Self::Left => EntryState::Left,
            Self::Evicted => EntryState::Evicted,
            Self::Dismissed => EntryState::Dismissed,
            Self::NoShow | Self::Expired | Self::Absence | Self::OverlongWait => EntryState::Expired,
        }
    }

    /// Whether a visit can have ended in this way with this fact: a no-show is a turn that ran out,
    /// an expired session one that ran out, an absence, an overlong wait and a dismissal a wait that did, and every
    /// other end is the last step. The slot of a visitor who left or was evicted may still be held.
    pub fn fits(self, fact: Fact) -> bool {
        match self {
            Self::NoShow => fact.is_over && matches!(fact.step, Step::Ready | Step::ReadyAgain),
            Self::Expired => fact.is_over && fact.step == Step::Active,
            Self::Absence | Self::OverlongWait | Self::Dismissed => {
                fact.is_over && matches!(fact.step, Step::Waiting | Step::WaitingAgain)
            }
            Self::Completed | Self::Consumed(_) => fact == Fact::ended(fact.visit),
            Self::Left | Self::Evicted => {
                fact == Fact::ended(fact.visit) || fact == Fact::held(fact.visit, fact.step_ms)
            }
        }
    }
}
