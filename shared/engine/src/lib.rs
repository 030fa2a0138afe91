//! The use cases.

pub mod aside;
mod batch;
pub mod check;
pub mod drain;
pub mod drive;
mod lease;
pub mod outlasted;
pub mod over;
pub mod place;
pub mod restore;
pub mod revive;
pub mod sync;
pub mod tick;
pub mod write_through;

/// How many records are read of a whole journal: more than are ever kept aside, and than are ever waiting for their next
/// try, but for a table that takes nothing.
const JOURNAL_RECORDS_MAX: usize = 20_000;
