//! How a function starts: its configuration, its connections, and what it serves.

pub mod config;
pub mod start;
