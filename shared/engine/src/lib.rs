//! The use cases: what happens between the line and the backup. A use case asks for the
//! capabilities of the line that it needs, and knows neither Redis nor `DynamoDB`.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`persist_entry`](mod@persist_entry) | writes the place of a visitor who enters, or gives back the place that the visitor had |
//! | [`write_through`](mod@write_through) | writes what a visitor did before the request is acknowledged |
//! | [`missing_entry`] | finds out what became of an entry that the line does not have |
//! | [`interrupted_change`] | writes what a killed request left unwritten about an entry |
//! | [`tick`](mod@tick), [`fallback_tick`](mod@fallback_tick) | one step of the promoter; the same by a request while the promoter is down |
//! | [`flush`] | flushes the journal (the outbox of the line) to the backup |
//! | [`dead_letter`] | keeps and retries dead letters: changes that the backup refuses |
//! | [`sync`] | puts the stored settings of a queue in force |
//! | [`restore`](mod@restore) | restores a queue that the line lost, under a lease with a fencing token |
//! | [`restore_entry`](mod@restore_entry) | restores a single entry that the line lost |
//! | [`ended`] | removes an entry from the line whose end the line lost |
//! | [`stale_end`] | resolves a stale end: one that the line remembers and a later record supersedes |
//! | [`check`](mod@check) | the consistency check: compares line and backup, and repairs differences |

pub mod check;
pub mod dead_letter;
pub mod ended;
pub mod fallback_tick;
pub mod flush;
pub mod interrupted_change;
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

/// How many records a complete read of the journal returns at most. That is more than the limit of
/// dead letters, and more than ever wait for their next attempt, unless the backup accepts no
/// writes at all.
const JOURNAL_RECORDS_MAX: usize = 20_000;
