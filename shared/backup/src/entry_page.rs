//! A part of the entries of one shard.

use vestibule_domain::{id::EntryId, record::EntryRecord};

/// Some entries of one shard, in the order of their ids.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EntryPage {
    /// The records. There may be none although further ones follow.
    pub records: Vec<EntryRecord>,
    /// The entry behind which the next page begins. `None` at the end of the shard.
    pub next_after: Option<EntryId>,
}
