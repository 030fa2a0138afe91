//! The size of a queue: how many visitors a protected service can handle at once, and how fast they may
//! arrive.
//!
//! Little's law ([Little 1961](https://doi.org/10.1287/opre.9.3.383)): the number of visitors
//! inside is the number that arrives per second times the seconds that each one stays. If a service
//! answers `tps` calls per second, and every visitor makes `calls` calls and repeats the failed
//! ones, it serves `tps / (calls * (1 + failure rate))` visitors per second.

use super::settings::{Field, FieldType};

/// The capacity of the protected service, and the behavior of its visitors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Demand {
    /// Calls that the service answers per second.
    pub tps: u32,
    /// Calls that a visitor makes in one session.
    pub calls: u32,
    /// The length of a session, in seconds.
    pub session_seconds: u32,
    /// The share of the calls that fail and are repeated, in percent.
    pub failure_percent: u32,
    /// The length of a promotion interval, in seconds.
    pub interval_seconds: u32,
}

/// Settings that meet a demand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SizingPlan {
    /// The most visitors that may be inside at once.
    pub capacity: u64,
    /// The number of visitors admitted per interval.
    pub batch: u64,
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
        Ok(Self {
            capacity: require_in_range("capacity", "tps", visitors_served(demand, demand.session_seconds))?,
            batch: require_in_range(
                "batch",
                "interval_seconds",
                visitors_served(demand, demand.interval_seconds),
            )?,
        })
    }
}

/// The number of visitors that the service serves in so many seconds.
fn visitors_served(demand: &Demand, seconds: u32) -> u64 {
    let hundred_calls = u64::from(demand.calls) * (100 + u64::from(demand.failure_percent));
    u64::from(demand.tps) * u64::from(seconds) * 100 / hundred_calls.max(1)
}

/// Returns the value if it is in the range of the setting.
fn require_in_range(setting: &str, field: &'static str, value: u64) -> Result<u64, PlanError> {
    match Field::find(setting).map(|field| field.field_type) {
        Some(FieldType::Number { min, max }) if !(u64::from(min)..=u64::from(max)).contains(&value) => {
            let reason = format!("results in a {setting} of {value}, which must be from {min} to {max}");
            Err(PlanError { field, reason })
        }
        _ => Ok(value),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// 1,000 calls per second, six calls per visitor, sessions of five minutes, 15 % of the calls
    /// repeated.
    const SHOP: Demand = Demand {
        tps: 1_000,
        calls: 6,
        session_seconds: 300,
        failure_percent: 15,
        interval_seconds: 10,
    };

    #[test]
    fn a_shop_with_1000_calls_per_second_is_sized() {
        let plan = SizingPlan::for_demand(&SHOP).expect("possible");
        assert_eq!((plan.capacity, plan.batch), (43_478, 1_449));
        let sure = Demand {
            failure_percent: 0,
            ..SHOP
        };
        let plan = SizingPlan::for_demand(&sure).expect("possible");
        assert_eq!((plan.capacity, plan.batch), (50_000, 1_666));
    }

    #[test]
    fn an_impossible_demand_names_the_field_to_change() {
        for (demand, field) in [
            (
                Demand {
                    tps: 1,
                    calls: 1_000,
                    ..SHOP
                },
                "tps",
            ),
            (
                Demand {
                    tps: 10_000_000,
                    calls: 1,
                    ..SHOP
                },
                "tps",
            ),
            (
                Demand {
                    tps: 1,
                    calls: 20,
                    ..SHOP
                },
                "interval_seconds",
            ),
            (
                Demand {
                    tps: 1_000_000,
                    calls: 100,
                    session_seconds: 1,
                    interval_seconds: 3_600,
                    ..SHOP
                },
                "interval_seconds",
            ),
        ] {
            assert_eq!(
                SizingPlan::for_demand(&demand).expect_err(field).field,
                field,
                "{demand:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn a_plan_never_exceeds_what_the_service_can_serve(
            tps in 1_u32..100_000, calls in 1_u32..100, session_seconds in 1_u32..3_600,
            failure_percent in 0_u32..=100, interval_seconds in 1_u32..600,
        ) {
            let demand = Demand { tps, calls, session_seconds, failure_percent, interval_seconds };
            if let Ok(plan) = SizingPlan::for_demand(&demand) {
                let calls_of = |visitors: u64| visitors * u64::from(calls) * u64::from(100 + failure_percent);
                let hundred_can = |seconds: u32| u64::from(tps) * u64::from(seconds) * 100;
                prop_assert!(calls_of(plan.capacity) <= hundred_can(session_seconds));
                prop_assert!(calls_of(plan.batch) <= hundred_can(interval_seconds));
                prop_assert!(calls_of(plan.batch + 1) > hundred_can(interval_seconds), "the batch is maximal");
            }
        }
    }
}
