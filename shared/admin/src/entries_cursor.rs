//! Where a page of the command `entries` begins.

use std::str::FromStr;

use vestibule_domain::id::{EntryId, SHARD_COUNT};
use vestibule_wire::commands::EntriesOrder;

use super::problem::Problem;

/// Where a page begins: behind an entry, or at the beginning of a shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EntriesCursor {
    pub(super) generation: u32,
    pub(super) shard: u8,
    pub(super) after: Option<EntryId>,
}

impl EntriesCursor {
    /// The cursor of the first page.
    pub(super) fn first(generation: u32) -> Self {
        Self {
            generation,
            shard: 0,
            after: None,
        }
    }

    /// The text that an operator sends with the next command.
    pub(super) fn to_text(self) -> String {
        let after = self.after.map(|id| id.to_string()).unwrap_or_default();
        format!("{}/{}/{after}", self.generation, self.shard)
    }

    /// The cursor behind this entry, or at the beginning of the next shard. `None` behind the last shard.
    pub(super) fn next(self, after: Option<EntryId>) -> Option<Self> {
        let shard = if after.is_some() {
            self.shard
        } else {
            self.shard + 1
        };
        (shard < SHARD_COUNT).then_some(Self { shard, after, ..self })
    }
}

impl FromStr for EntriesCursor {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut parts = text.splitn(3, '/');
        let mut next = || parts.next().ok_or(());
        let generation = next()?.parse().map_err(|_| ())?;
        let shard = next()?
            .parse()
            .ok()
            .filter(|shard| *shard < SHARD_COUNT)
            .ok_or(())?;
        let after = match next()? {
            "" => None,
            id => Some(
                id.parse::<EntryId>()
                    .ok()
                    .filter(|id| id.shard() == shard)
                    .ok_or(())?,
            ),
        };
        Ok(Self {
            generation,
            shard,
            after,
        })
    }
}

/// The cursor of a command; `None` for the first page.
pub(super) fn read_cursor(order: &EntriesOrder) -> Result<Option<EntriesCursor>, Problem> {
    let cursor = order.cursor.as_deref().map(str::parse);
    cursor
        .transpose()
        .map_err(|()| Problem::invalid_field("cursor", "must be the cursor of an answer of this command"))
}
