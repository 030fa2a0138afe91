//! The command `plan`: computes settings for a demand. It reads and changes no queue.

use serde_json::{Value, json};
use vestibule_domain::plan::{Demand, Interval, SizingPlan};

use super::{Problem, command_fields::CommandFields};

/// The default of `interval_seconds`: how often a batch of visitors is let in.
const DEFAULT_INTERVAL_SECONDS: u32 = 10;
/// The most calls that a visitor makes in one session.
const CALLS_MAX: u32 = 100_000;

impl CommandFields {
    /// Reads the required fields `tps`, `calls` and `session_seconds`, and the optional fields
    /// `failure_percent`, `margin_percent`, and `interval_seconds` or `target_load`.
    pub(super) fn demand(&mut self) -> Result<Demand, Problem> {
        Ok(Demand {
            tps: self.integer_in_range("tps", None, 1..=10_000_000)?,
            milli_calls: self.thousandths("calls", CALLS_MAX)?,
            session_seconds: self.integer_in_range("session_seconds", None, 1..=86_400)?,
            failure_percent: self.integer_in_range("failure_percent", Some(0), 0..=100)?,
            margin_percent: self.integer_in_range("margin_percent", Some(0), 0..=99)?,
            interval: self.interval()?,
        })
    }

    fn interval(&mut self) -> Result<Interval, Problem> {
        let seconds = self.optional_integer_in_range("interval_seconds", 1..=3_600)?;
        let batches = self.optional_integer_in_range("target_load", 1..=86_400)?;
        match (seconds, batches) {
            (Some(_), Some(_)) => Err(Problem::invalid_field(
                "target_load",
                "gives the interval, so leave out interval_seconds, or target_load",
            )),
            (seconds, None) => Ok(Interval::Seconds(seconds.unwrap_or(DEFAULT_INTERVAL_SECONDS))),
            (None, Some(batches)) => Ok(Interval::TargetLoad(batches)),
        }
    }
}

/// Computes settings for `create` that meet a demand.
pub(super) fn plan_settings(demand: &Demand) -> Result<Value, Problem> {
    let plan =
        SizingPlan::for_demand(demand).map_err(|error| Problem::invalid_field(error.field, error.reason))?;
    Ok(json!({ "settings": {
        "capacity": plan.capacity,
        "batch": plan.batch,
        "interval_seconds": plan.interval_seconds,
        "session_seconds": demand.session_seconds,
    } }))
}
