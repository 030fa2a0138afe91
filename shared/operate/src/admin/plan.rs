//! The command `plan`: computes settings for a demand. It reads and changes no queue.

use serde_json::{Value, json};
use vestibule_domain::plan::{Demand, SizingPlan};

use super::{Problem, command_fields::CommandFields};

/// The default of `interval_seconds`: how often a batch of visitors is let in.
const DEFAULT_INTERVAL_SECONDS: u32 = 10;

impl CommandFields {
    /// Reads the required fields `tps`, `calls` and `session_seconds`, and the optional fields
    /// `failure_percent` and `interval_seconds`.
    pub(super) fn demand(&mut self) -> Result<Demand, Problem> {
        Ok(Demand {
            tps: self.integer_in_range("tps", None, 1..=10_000_000)?,
            calls: self.integer_in_range("calls", None, 1..=100_000)?,
            session_seconds: self.integer_in_range("session_seconds", None, 1..=86_400)?,
            failure_percent: self.integer_in_range("failure_percent", Some(0), 0..=100)?,
            interval_seconds: self.integer_in_range(
                "interval_seconds",
                Some(DEFAULT_INTERVAL_SECONDS),
                1..=3_600,
            )?,
        })
    }
}

/// Computes settings for `create` that meet a demand.
pub(super) fn plan_settings(demand: &Demand) -> Result<Value, Problem> {
    let plan =
        SizingPlan::for_demand(demand).map_err(|error| Problem::invalid_field(error.field, error.reason))?;
    Ok(json!({ "settings": {
        "capacity": plan.capacity,
        "batch": plan.batch,
        "interval_seconds": demand.interval_seconds,
        "session_seconds": demand.session_seconds,
    } }))
}
