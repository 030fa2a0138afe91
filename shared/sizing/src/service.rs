//! The size of a queue: how many visitors a protected service can handle at once, and how fast they may
//! arrive.
//!
//! Little's law ([Little 1961](https://doi.org/10.1287/opre.9.3.383)): the number of visitors
//! inside is the number that arrives per second times the seconds that each one stays. If a service
//! answers `tps` calls per second, and every visitor makes `calls` calls and repeats the failed
//! ones, it serves `tps / (calls * (1 + failure rate))` visitors per second. A safety margin takes a share off that.

use vestibule_domain::settings::{Field, FieldType};

/// The capacity of the protected service, and the behavior of its visitors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Demand {
    /// Calls that the service answers per second.
    pub tps: u32,
    /// Calls that a visitor makes in one session, on average, in thousandths of a call.
    pub milli_calls: u32,
    /// The length of a session, in seconds.
    pub session_seconds: u32,
    /// The share of the calls that fail and are repeated, in percent.
    pub failure_percent: u32,
    /// The share of the service that is to stay free, in percent, 99 at most.
    pub margin_percent: u32,
    /// How often a batch of visitors is let in.
    pub interval: Interval,
}

/// The length of a promotion interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interval {
    /// In seconds.
    Seconds(u32),
    /// The target load: so many batches are inside at once, so the interval is this part of a session.
    TargetLoad(u32),
}

impl Demand {
    /// The length of a promotion interval, in whole seconds. A part of a session is rounded down: the batch
    /// is the smaller for it.
    pub fn interval_seconds(&self) -> u32 {
        match self.interval {
            Interval::Seconds(seconds) => seconds,
            Interval::TargetLoad(batches) => self.session_seconds / batches.max(1),
        }
    }
}

/// Settings that meet a demand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SizingPlan {
    /// The most visitors that may be inside at once.
    pub capacity: u64,
    /// The number of visitors admitted per interval.
    pub batch: u64,
    /// The length of an interval, in seconds.
    pub interval_seconds: u64,
}

/// A demand that no queue can meet.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field} {reason}")]
pub struct PlanError {
    /// The field of the demand to change.
    pub field: &'static str,
    /// Why the demand cannot be met, as a sentence whose subject is the field.
    pub reason: String,
}

impl SizingPlan {
    /// Computes the settings for a demand. They are rounded down, so the service never gets more
    /// visitors than it can serve.
    ///
    /// # Errors
    /// [`PlanError`] if a setting would be out of its range.
    pub fn for_demand(demand: &Demand) -> Result<Self, PlanError> {
        let interval_field = match demand.interval {
            Interval::Seconds(_) => "interval_seconds",
            Interval::TargetLoad(_) => "target_load",
        };
        let interval_seconds = demand.interval_seconds();
        let batch = visitors_served(demand, interval_seconds);
        Ok(Self {
            capacity: require_in_range("capacity", "tps", visitors_served(demand, demand.session_seconds))?,
            interval_seconds: require_in_range(
                "interval_seconds",
                interval_field,
                u64::from(interval_seconds),
            )?,
            batch: require_in_range("batch", interval_field, batch)?,
        })
    }
}

/// The number of visitors that the service serves in so many seconds.
fn visitors_served(demand: &Demand, seconds: u32) -> u64 {
    // Both sides are multiplied by 1,000 for the thousandths of a call, and by 100 for the percents.
    let calls_of_one = u128::from(demand.milli_calls) * u128::from(100 + demand.failure_percent);
    let free = u128::from(100_u32.saturating_sub(demand.margin_percent));
    let calls = u128::from(demand.tps) * u128::from(seconds) * 1_000 * free;
    u64::try_from(calls / calls_of_one.max(1)).unwrap_or(u64::MAX)
}

/// Returns the value if it is in the range of the setting.
fn require_in_range(setting: &str, field: &'static str, value: u64) -> Result<u64, PlanError> {
    match Field::find(setting).map(|field| field.field_type) {
        Some(FieldType::Number { min, max }) if !(u64::from(min)..=u64::from(max)).contains(&value) => {
            let reason = format!("results in {setting} = {value}, which must be from {min} to {max}");
            Err(PlanError { field, reason })
        }
        _ => Ok(value),
    }
}

#[cfg(test)]
mod tests;
