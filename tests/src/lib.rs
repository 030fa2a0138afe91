//! The harness that the suites share.

pub mod edge;
