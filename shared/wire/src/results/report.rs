//! The result of `report`.

use serde::Serialize;
use vestibule_domain::{
    operator_order::OperatorOrder,
    queue_state::QueueState,
    tally::{HistogramBucket, PeakWaiting, QueueTotals},
};

/// The result of `report`: what happened in a queue since its generation began.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct QueueReport {
    /// The id of the queue.
    pub queue: String,
    /// The generation of which it reports. The orders are of all generations.
    pub generation: u32,
    /// The epoch of the last change that is counted.
    pub epoch: u32,
    /// When the numbers were counted, in Unix milliseconds. From the backup they are some seconds old.
    pub as_of_ms: u64,
    /// The entries in the queue now. Null if the line does not have this generation of the queue.
    pub live: Option<LiveCounts>,
    /// How many visits began, ended, and so on.
    pub totals: ReportedTotals,
    /// How long all promoted entries waited, from entering to the promotion, but not from before the opening. Visitors of the
    /// fast track are not among them.
    pub waits: DurationReport,
    /// How long the sessions lasted that ended: completed, left, evicted or run out.
    pub stays: DurationReport,
    /// The most entries in line.
    pub peak: PeakWaiting,
    /// The last orders that changed the queue, the oldest first.
    pub orders: Vec<OperatorOrder>,
    /// How many orders are kept.
    pub orders_kept: usize,
    /// How many older orders there were.
    pub orders_fallen_out: u64,
}

/// The result of `report` with `"format": "csv"`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct CsvReport {
    /// Rows with the columns `section, name, value, at_ms, at, caller, request_id, details`, after a byte order mark.
    pub csv: String,
}

/// The totals of a report.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ReportedTotals {
    #[allow(missing_docs)] // Its members are those of the object.
    #[serde(flatten)]
    pub totals: QueueTotals,
    /// Visits that became active: `claimed`, `fast_tracked` or `bypassed`.
    pub let_in: u64,
}

/// Durations: figures, and a histogram.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct DurationReport {
    /// How many there were.
    pub count: u64,
    /// Their mean, in milliseconds. Null without any.
    pub mean_ms: Option<u64>,
    /// The longest, in milliseconds. Null without any.
    pub max_ms: Option<u64>,
    /// The duration that half of them did not exceed, in milliseconds. Null without any.
    pub p50_ms: Option<u64>,
    /// The duration that 90 % of them did not exceed, in milliseconds. Null without any.
    pub p90_ms: Option<u64>,
    /// The duration that 99 % of them did not exceed, in milliseconds. Null without any.
    pub p99_ms: Option<u64>,
    /// By how much of itself a percentile may be off. The mean and the longest are exact.
    pub relative_error: f64,
    /// The buckets that are not empty, the shortest durations first.
    pub buckets: Vec<HistogramBucket>,
}

/// The entries of a queue.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LiveCounts {
    /// What the queue does.
    pub state: QueueState,
    /// How many entries wait, absent ones not counted.
    pub waiting: u64,
    /// How many waiting entries were passed over, because the visitor had not checked in.
    pub absent: u64,
    /// How many entries are promoted and not yet claimed.
    pub ready: u64,
    /// How many entries are let in.
    pub active: u64,
    /// How many slots are held for visitors who left or were evicted.
    pub held: u64,
}
