//! The results of `plan`.

use serde::Serialize;
use serde_json::{Map, Value};

/// The result of `plan` for a protected service.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ServicePlan {
    /// Settings for `create` and `update`.
    pub settings: PlannedSettings,
}

/// Settings that a plan proposes.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct PlannedSettings {
    /// The capacity, in entries.
    pub capacity: u64,
    /// How many entries are promoted per interval.
    pub batch: u64,
    /// The length of an interval, in seconds.
    pub interval_seconds: u64,
    /// The length of a session, in seconds.
    pub session_seconds: u32,
}

/// The result of `plan` with `visitors`: what a crowd asks of each part of the deployment, and what it costs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct CrowdPlan {
    /// The fields that the command did not give and that matter most, with the values that the plan uses.
    pub assumed: Map<String, Value>,
    /// Settings for `create`. The protected service must be able to carry this capacity and pace.
    pub settings: PlannedSettings,
    /// How many visitors the queue lets in per hour.
    pub visitors_per_hour: f64,
    /// The most visitors that the hash slot of the queue carries per hour.
    pub visitors_per_hour_max: f64,
    /// The mean wait, in minutes. It is longer than the one of the command if the queue carries no higher pace.
    pub wait_minutes_mean: f64,
    /// The longest wait, in minutes.
    pub wait_minutes_longest: f64,
    /// What each part of the deployment needs and gives, the fullest first.
    pub parts: Vec<PartPlan>,
    /// Requests of a visitor to the API, on average.
    pub requests_per_visitor: f64,
    /// Reads of the public document by a visitor, on average.
    pub document_reads_per_visitor: f64,
    /// What the crowd costs.
    pub cost: CrowdBill,
}

/// What a crowd asks of one part of a deployment in its busiest time.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct PartPlan {
    /// The part.
    pub part: &'static str,
    /// What is counted.
    pub unit: &'static str,
    /// How many of it the crowd needs.
    pub needed: f64,
    /// How many of it the part gives by the defaults of the template and of a new account.
    pub given: f64,
    /// From where that is known.
    pub source: &'static str,
    /// The share of `given` that is needed. Above 1, the part is too small.
    pub share: f64,
    /// What to raise. Absent if 15 % of the part stay free.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

/// What a crowd costs, at list prices.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct CrowdBill {
    /// The currency: `USD`.
    pub currency: &'static str,
    /// The month of the prices, which are those of us-east-1.
    pub prices_of: &'static str,
    /// The whole cost.
    pub total: f64,
    /// What is charged, the dearest first.
    pub items: Vec<BillItem>,
}

/// One line of a bill.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct BillItem {
    /// What is charged.
    pub what: &'static str,
    /// How many units of it.
    pub units: f64,
    /// The cost, in US dollars.
    pub dollars: f64,
    /// The page with the price.
    pub page: &'static str,
}
