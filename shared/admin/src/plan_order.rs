//! The order to plan a queue.

use serde_json::{Map, Value};
use vestibule_domain::{crowd_sizing::sizing::CrowdDemand, plan::Demand};

/// What the settings of a queue are computed from.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum PlanOrder {
    /// What the protected service can do.
    Service(Demand),
    /// The crowd that is expected, and the fields that were not given, with the values that count instead.
    Crowd(CrowdDemand, Map<String, Value>),
}
