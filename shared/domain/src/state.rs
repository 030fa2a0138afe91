//! The state machine of an entry.

use serde::{Deserialize, Serialize};

/// The state of an entry. It is written in lower case in JSON (`waiting`) and in upper case in the table
/// (`WAITING`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
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
    /// The visitor left. The entry has ended.
    Left,
    /// The turn or the session ran out. The entry has ended.
    Expired,
    /// An operator removed the entry. The entry has ended.
    Evicted,
    /// The queue was finished while the visitor waited. The entry has ended.
    Dismissed,
}

impl EntryState {
    /// All states, in the order in which an entry passes them.
    pub const ALL: [Self; 8] = [
        Self::Waiting,
        Self::Ready,
        Self::Active,
        Self::Completed,
        Self::Left,
        Self::Expired,
        Self::Evicted,
        Self::Dismissed,
    ];

    /// Whether the entry is in the line: waiting, ready or active.
    pub fn is_live(self) -> bool {
        matches!(self, Self::Waiting | Self::Ready | Self::Active)
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
            Self::Evicted => "evicted",
            Self::Dismissed => "dismissed",
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
            Self::Evicted => "EVICTED",
            Self::Dismissed => "DISMISSED",
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
    fn a_state_has_the_same_name_in_json_and_table() {
        for state in EntryState::ALL {
            assert_eq!(EntryState::from_table_name(state.table_name()), Some(state));
            assert_eq!(state.table_name().to_lowercase(), state.name());
        }
    }
}
