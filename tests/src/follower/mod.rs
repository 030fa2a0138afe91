//! Visitors who follow the rules of the shipped client ([`vestibule_crowd::rules`]), over HTTP, for tests and benchmarks.

// A harness panics where a test is to fail.
#![allow(clippy::missing_panics_doc)]

mod visitor;

pub use vestibule_crowd::rules::*;

pub use self::visitor::{FollowingVisitor, RequestCounts, Step};
