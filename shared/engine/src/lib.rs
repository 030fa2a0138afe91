//! The use cases: what happens between the line and the backup. A use case asks for the
//! capabilities of the line that it needs, and knows neither Redis nor `DynamoDB`.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`persist_entry`](mod@persist_entry) | writes the place of a visitor who enters, or gives back the place that the visitor had |
//! | [`write_through`](mod@write_through) | writes what a visitor did before the request is acknowledged |
//! | [`entry_context`] | what a request knows about an entry |
//! | [`reconcile_entry`] | makes line and backup agree about an entry that a request found |
//! | [`missing_entry`] | finds out what became of an entry that the line does not have |
//! | [`tick`](mod@tick), [`fallback_tick`](mod@fallback_tick) | one step of the promoter; the same by a request while the promoter is down |
//! | [`flush`] | flushes the journal (the outbox of the line) to the backup |
//! | [`dead_letter`] | keeps and retries dead letters: changes that the backup refuses |
//! | [`sync`] | puts the stored settings of a queue in force |
//! | [`restore`](mod@restore) | restores a queue that the line lost, under a lease with a fencing token |
//! | [`key_store`] | the port to the keys that sign passes |
//! | [`check`](mod@check) | the consistency check: compares line and backup, and repairs differences |

mod agree;
pub mod check;
pub mod dead_letter;
pub mod deletion;
pub mod entry_context;
pub mod fallback_tick;
pub mod flush;
mod journal_batch;
pub mod key_store;
mod lease;
mod log_agreement;
pub mod missing_entry;
mod opening;
pub mod persist_entry;
pub mod reconcile_entry;
mod resolve_conflict;
pub mod restore;
mod settings_policy;
pub mod switches;
pub mod sync;
mod sync_error;
pub mod tally;
pub mod tick;
pub mod tick_history;
pub mod write_through;
