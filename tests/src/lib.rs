//! The harness that the suites share.

pub mod entries;
pub mod lines;
pub mod servers;
