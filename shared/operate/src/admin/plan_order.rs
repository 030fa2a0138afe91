//! The order to plan a queue.

use vestibule_domain::{crowd_sizing::sizing::CrowdDemand, plan::Demand};

/// What the settings of a queue are computed from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum PlanOrder {
    /// What the protected service can do.
    Service(Demand),
    /// The crowd that is expected.
    Crowd(CrowdDemand),
}
