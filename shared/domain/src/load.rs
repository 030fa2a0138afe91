//! The load that the protected service reports about itself. The statistics show it to operators, and an
//! [adaptive pace](super::adaptive_pace) follows it.

use serde::Serialize;

/// The most requests per second that a report may contain.
pub const TPS_MAX: u32 = 10_000_000;
/// The highest latency that a report may contain, in milliseconds: one hour.
pub const LATENCY_MAX_MS: u32 = 3_600_000;

/// A load report of the protected service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct LoadReport {
    /// The requests per second that the service currently serves, if it reports that.
    pub tps: Option<u32>,
    /// The time that the service takes for one request, in milliseconds, if it reports that.
    pub latency_ms: Option<u32>,
    /// Whether the service considers itself healthy.
    pub healthy: bool,
}

/// The last load report that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastLoadReport {
    /// The report.
    pub report: LoadReport,
    /// When it arrived, in line time (Unix milliseconds).
    pub at_ms: u64,
}

impl LastLoadReport {
    /// Whether the report still counts, if one counts for `ttl_ms` milliseconds.
    pub fn is_valid(&self, now_ms: u64, ttl_ms: u64) -> bool {
        self.age_ms(now_ms) < ttl_ms
    }

    /// The age of the report, in milliseconds.
    pub fn age_ms(&self, now_ms: u64) -> u64 {
        now_ms.saturating_sub(self.at_ms)
    }
}
