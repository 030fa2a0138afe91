//! The promoter: every second, one [`tick`](fn@tick) for every queue and after it one
//! [`drain`](fn@crate::backup::drain::drain) of its journal, and every few seconds one [`sync`](fn@sync) of its settings. Every few minutes one [`check`](fn@crate::backup::check::check) compares the line with the backup. [`Promoter::run`] is the loop around them, dull on purpose: all queues go side by side, each step has its
//! own time-out, and a queue whose last step is not over is passed over, so that a slow one delays nobody else.
//!
//! Any number of promoters may run at once: how many are promoted depends on the line's time and state alone. While none
//! does, whoever calls may [`drive`](fn@drive) a queue instead.

pub mod drive;
pub mod sync;
pub mod tick;
mod whole;

mod checks;
mod known;
mod probes;
mod report;
mod rest;
mod run;
mod steps;
#[cfg(test)]
mod tests;
mod watch;

pub use drive::{DriveError, Driven, drive, take_turn};
pub use run::{Promoter, almost};
pub use sync::{Policy, SyncError, Synced, sync};
pub use tick::{Ticked, tick, tick_in_stead};
