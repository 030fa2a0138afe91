//! The promoter: every second, one [`tick`](fn@tick) for every queue and after it one
//! [`drain`](fn@vestibule_engine::drain::drain) of its journal, and every few seconds one [`sync`](fn@sync) of its settings. Every few minutes one [`check`](fn@vestibule_engine::check::check) compares the line with the backup. [`Promoter::run`] is the loop around them, dull on purpose: all queues go side by side, each step has its
//! own time-out, and a queue whose last step is not over is passed over, so that a slow one delays nobody else.
//!
//! Any number of promoters may run at once: how many are promoted depends on the line's time and state alone. While none
//! does, whoever calls may [`drive`](fn@drive) a queue instead.

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

pub use run::{Promoter, almost};
