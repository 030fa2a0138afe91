//! The entries, as the line and the backup have them together.

mod closing;
pub(crate) mod consume;
mod ended;
pub(crate) mod enter;
pub(crate) mod fallback_ticker;
mod fallback_ticks;
mod finished_queue;
pub(crate) mod missing;
mod token_lookup;
pub(crate) mod token_records;
pub(crate) mod validate;
pub(crate) mod view;
