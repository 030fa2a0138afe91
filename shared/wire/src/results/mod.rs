//! What the commands of operators answer, as `result`: one type for each result. The doc comments of the members are their
//! descriptions in the reference.
//!
//! The admin function adds to each object of an answer, beside each moment such as `joined_at_ms`, the same as a text in UTC,
//! `joined_at`.

mod deployment;
mod entries;
mod numbers;
mod plan;
mod queues;
mod report;
mod visits;

use serde::Serialize;
use serde_json::Value;

pub use self::{deployment::*, entries::*, numbers::*, plan::*, queues::*, report::*, visits::*};

/// The result as JSON.
#[allow(clippy::missing_panics_doc)] // A struct of plain fields always serializes.
pub fn to_value(result: impl Serialize) -> Value {
    serde_json::to_value(result).expect("plain fields")
}
