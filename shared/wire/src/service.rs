//! The answers to the protected service.

use serde::{Deserialize, Serialize};
use vestibule_domain::state::EntryState;

use super::Pass;

/// That the visitor may act.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ValidateResponse {
    /// True. A visitor who may not act is a problem.
    pub valid: bool,
    /// The entry is active.
    #[cfg_attr(feature = "schemas", schemars(schema_with = "super::schemas::active_state"))]
    pub state: EntryState,
    /// The number of the visit.
    #[cfg_attr(feature = "schemas", schemars(schema_with = "super::schemas::visit"))]
    pub visit: u64,
    /// When the session ends; in a degraded answer, until when such a pass is accepted.
    pub expires_at_ms: u64,
    /// Whether the backup has the change that this request made. Absent if the request changed nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub durable: Option<bool>,
    /// With `extend`: a new pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pass: Option<Pass>,
    /// True if Redis is unavailable and the queue's `on_outage` is open: only the pass was checked. Otherwise absent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub degraded: bool,
}

/// What a load report did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LoadAnswer {
    /// Whether reports move the pace of the queue (`adaptive`). If not, only the statistics show them.
    pub acts: bool,
}
