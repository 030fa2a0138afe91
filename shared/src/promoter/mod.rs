//! The promoter: every second, one [`tick`](fn@tick) for every queue and after it one
//! [`drain`](fn@crate::backup::drain::drain) of its journal, and every few seconds one [`sync`](fn@sync) of its settings. [`Promoter::run`] is the loop around them, dull on purpose: all queues go side by side, each step has its
//! own time-out, and a queue whose last step is not over is passed over, so that a slow one delays nobody else.
//!
//! Any number of promoters may run at once: how many are promoted depends on the line's time and state alone.

pub mod sync;
pub mod tick;
mod whole;

mod known;
mod probes;
mod report;
mod run;
mod steps;
#[cfg(test)]
mod tests;

pub use run::{Promoter, almost};
pub use sync::{Policy, SyncError, Synced, sync};
pub use tick::{Ticked, tick};
