//! What the protected service says of its own load. An operator sees it in the statistics; nothing acts on it yet:
//! the adaptive pace will read it.

use serde::Serialize;

/// How long a report counts, in seconds: a service that says nothing for longer may be down.
pub const LOAD_TTL_SECONDS: u32 = 60;
/// The most requests a second that a report may name.
pub const TPS_MAX: u32 = 10_000_000;
/// The longest latency that a report may name: an hour.
pub const LATENCY_MS_MAX: u32 = 3_600_000;

/// A load report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct LoadReport {
    /// Requests a second that the service serves now.
    pub tps: u32,
    /// How long one takes it, where it says so.
    pub latency_ms: Option<u32>,
    /// Whether it is well, by its own judgement.
    pub healthy: bool,
}

/// The last report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastLoad {
    /// What it said.
    pub report: LoadReport,
    /// When it came, in line time (Unix milliseconds).
    pub at_ms: u64,
}

impl LastLoad {
    /// Whether it still counts.
    pub fn counts(&self, now_ms: u64) -> bool {
        self.age_ms(now_ms) < u64::from(LOAD_TTL_SECONDS) * 1_000
    }

    /// How old it is.
    pub fn age_ms(&self, now_ms: u64) -> u64 {
        now_ms.saturating_sub(self.at_ms)
    }
}
