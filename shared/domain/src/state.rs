//! The state machine of an entry.

use serde::{Deserialize, Serialize};

/// The state of an entry. It is written in lower case in JSON (`waiting`) and in upper case in the table
/// (`WAITING`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EntryState {
    /// The entry is in line.
    Waiting,
    /// The entry was promoted and must be claimed within `claim_seconds`.
    Ready,
    /// The visitor was admitted, until the session runs out.
    Active,
    /// The visit was completed. The entry has ended.
    Completed,
    /// The visitor left, or an operator removed the entry. The entry has ended.
    Left,
    /// The turn or the session ran out. The entry has ended.
    Expired,
}

impl EntryState {
    /// All states, in the order in which an entry passes them.
    pub const ALL: [Self; 6] = [
        Self::Waiting,
        Self::Ready,
        Self::Active,
        Self::Completed,
        Self::Left,
        Self::Expired,
    ];

    /// Whether the entry is in the line: waiting, ready or active.
    pub fn is_live(self) -> bool {
        matches!(self, Self::Waiting | Self::Ready | Self::Active)
    }

    /// Whether this state comes later in a visit than `earlier`. Of two states of the same visit,
    /// the later one is the current one.
    pub fn is_later_than(self, earlier: Self) -> bool {
        let step = |state| match state {
            Self::Waiting => 0,
            Self::Ready => 1,
            Self::Active => 2,
            Self::Completed | Self::Left | Self::Expired => 3,
        };
        step(self) > step(earlier)
    }

    /// Whether one transition leads from this state to `next`. An ended entry may become waiting
    /// again, or active on the fast track; that is a new visit.
    pub fn can_become(self, next: Self) -> bool {
        match self {
            Self::Waiting => matches!(next, Self::Ready | Self::Left),
            Self::Ready => matches!(next, Self::Active | Self::Left | Self::Expired),
            Self::Active => matches!(next, Self::Completed | Self::Left | Self::Expired),
            Self::Completed | Self::Left | Self::Expired => matches!(next, Self::Waiting | Self::Active),
        }
    }

    /// The name in lower case, as in JSON.
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

    /// The name in upper case, as in the table.
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

    /// Parses the output of [`EntryState::table_name`]; `None` for any other text.
    pub fn from_table_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.table_name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transitions_skip_no_state_and_never_go_back() {
        assert!(
            !EntryState::Waiting.can_become(EntryState::Active),
            "a waiting entry is promoted first"
        );
        assert!(
            !EntryState::Ready.can_become(EntryState::Waiting),
            "a promoted entry does not return to waiting"
        );
        assert!(
            !EntryState::Waiting.can_become(EntryState::Expired),
            "a waiting entry does not expire"
        );
        for state in EntryState::ALL {
            assert!(!state.can_become(state), "{state:?}");
            assert_eq!(EntryState::from_table_name(state.table_name()), Some(state));
            assert_eq!(state.table_name().to_lowercase(), state.name());
            let ends: Vec<_> = EntryState::ALL
                .into_iter()
                .filter(|n| state.can_become(*n) && !n.is_live())
                .collect();
            assert_eq!(ends.is_empty(), !state.is_live(), "{state:?} ends as {ends:?}");
            for next in EntryState::ALL {
                let leads = state.is_live() && state.can_become(next);
                assert!(!leads || next.is_later_than(state), "{state:?} to {next:?}");
                assert!(!(next.is_later_than(state) && state.is_later_than(next)));
            }
        }
    }
}
