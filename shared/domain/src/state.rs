//! The states of an entry and the ways between them.

use serde::{Deserialize, Serialize};

/// Where an entry is on its way. As JSON in lower case (`waiting`), in the table in upper case (`WAITING`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// In line.
    Waiting,
    /// Promoted; must be claimed within `claim_seconds`.
    Ready,
    /// Let in, until the session runs out.
    Active,
    /// Done: gone.
    Completed,
    /// Walked away: gone.
    Left,
    /// Timed out: gone.
    Expired,
}

impl State {
    /// Every state, in the order of an entry's way.
    pub const ALL: [Self; 6] = [
        Self::Waiting,
        Self::Ready,
        Self::Active,
        Self::Completed,
        Self::Left,
        Self::Expired,
    ];

    /// Whether the entry has a place in the line: waiting, ready or active.
    pub fn is_live(self) -> bool {
        matches!(self, Self::Waiting | Self::Ready | Self::Active)
    }

    /// Whether a visit that was in this state has been in `earlier` before: of two states of one visit the one that is
    /// further along is the later one.
    pub fn is_further_than(self, earlier: Self) -> bool {
        let step = |state| match state {
            Self::Waiting => 0,
            Self::Ready => 1,
            Self::Active => 2,
            Self::Completed | Self::Left | Self::Expired => 3,
        };
        step(self) > step(earlier)
    }

    /// Whether one step of a visit leads from here to `next`. An entry that is gone may come back as waiting, or on the
    /// fast track as active: that is a new visit.
    pub fn may_become(self, next: Self) -> bool {
        match self {
            Self::Waiting => matches!(next, Self::Ready | Self::Left),
            Self::Ready => matches!(next, Self::Active | Self::Left | Self::Expired),
            Self::Active => matches!(next, Self::Completed | Self::Left | Self::Expired),
            Self::Completed | Self::Left | Self::Expired => matches!(next, Self::Waiting | Self::Active),
        }
    }

    /// The name in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Ready => "ready",
            Self::Active => "active",
            Self::Completed => "completed",
            Self::Left => "left",
            Self::Expired => "expired",
        }
    }

    /// The name in upper case, as the table has it.
    pub fn table_name(self) -> &'static str {
        match self {
            Self::Waiting => "WAITING",
            Self::Ready => "READY",
            Self::Active => "ACTIVE",
            Self::Completed => "COMPLETED",
            Self::Left => "LEFT",
            Self::Expired => "EXPIRED",
        }
    }

    /// Back from [`State::table_name`].
    pub fn from_table_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.table_name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_state_leads_past_the_claim_or_out_of_the_line_unseen() {
        assert!(
            !State::Waiting.may_become(State::Active),
            "a waiting entry is promoted first"
        );
        assert!(
            !State::Ready.may_become(State::Waiting),
            "a promoted entry does not fall back"
        );
        assert!(
            !State::Waiting.may_become(State::Expired),
            "nobody times out in line"
        );
        for state in State::ALL {
            assert!(!state.may_become(state), "{state:?}");
            assert_eq!(State::from_table_name(state.table_name()), Some(state));
            assert_eq!(state.table_name().to_lowercase(), state.name());
            let ends: Vec<_> = State::ALL
                .into_iter()
                .filter(|n| state.may_become(*n) && !n.is_live())
                .collect();
            assert_eq!(ends.is_empty(), !state.is_live(), "{state:?} ends as {ends:?}");
            for next in State::ALL {
                let leads = state.is_live() && state.may_become(next);
                assert!(!leads || next.is_further_than(state), "{state:?} to {next:?}");
                assert!(!(next.is_further_than(state) && state.is_further_than(next)));
            }
        }
    }
}
