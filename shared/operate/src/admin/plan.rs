//! The command `plan`: computes settings for a demand. It reads and changes no queue.

use serde_json::{Value, json};
use vestibule_domain::plan::{Demand, Plan};

use super::{Problem, order::Fields};

/// The default of `interval_seconds`: how often a batch of visitors is let in.
const INTERVAL_SECONDS: u32 = 10;

impl Fields {
    /// Reads the required fields `tps`, `calls` and `session_seconds`, and the optional fields
    /// `failure_percent` and `interval_seconds`.
    pub(super) fn demand(&mut self) -> Result<Demand, Problem> {
        Ok(Demand {
            tps: self.whole("tps", None, 1..=10_000_000)?,
            calls: self.whole("calls", None, 1..=100_000)?,
            session_seconds: self.whole("session_seconds", None, 1..=86_400)?,
            failure_percent: self.whole("failure_percent", Some(0), 0..=100)?,
            interval_seconds: self.whole("interval_seconds", Some(INTERVAL_SECONDS), 1..=3_600)?,
        })
    }
}

/// Computes settings for `create` that meet a demand.
pub(super) fn plan(demand: &Demand) -> Result<Value, Problem> {
    let plan = Plan::of(demand).map_err(|error| Problem::field(error.field, error.reason))?;
    Ok(json!({ "settings": {
        "capacity": plan.capacity,
        "batch": plan.batch,
        "interval_seconds": demand.interval_seconds,
        "session_seconds": demand.session_seconds,
    } }))
}
