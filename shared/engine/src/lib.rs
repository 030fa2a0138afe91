//! The use cases.

pub mod check;
pub mod dead_letter;
pub mod ended;
pub mod fallback_tick;
pub mod flush;
mod journal_batch;
mod lease;
pub mod missing_entry;
pub mod persist_entry;
pub mod restore;
pub mod restore_entry;
pub mod stale_end;
pub mod sync;
pub mod tick;
pub mod write_through;

/// How many records are read of a whole journal: more than are ever kept aside, and than are ever waiting for their next
/// try, but for a table that takes nothing.
const JOURNAL_RECORDS_MAX: usize = 20_000;
