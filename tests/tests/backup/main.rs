//! The backups: what holds for both, what holds for each, and what carries changes to them and back.

mod conformance;
mod dynamodb;
mod file;
mod journey;
mod picky;
mod scene;
mod stuck;
mod throttled;
