//! The harness that the suites share.

pub mod edge;
pub mod entries;
pub mod lines;
pub mod runner;
pub mod servers;
pub mod written;
