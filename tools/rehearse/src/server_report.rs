//! The server's own report of a queue: the answer of the operators' command `report`.

use serde::{Deserialize, Serialize};
use vestibule_domain::tally::QueueTotals;

/// The report, as far as a rehearsal compares it.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub(crate) struct ServerReport {
    /// What was counted.
    pub(crate) totals: QueueTotals,
    /// How long the promoted entries had waited.
    pub(crate) waits: ServerWaits,
    /// The most entries in line.
    pub(crate) peak: ServerPeak,
    /// The entries that are in the line now; `None` if the line does not have the queue.
    pub(crate) live: Option<LiveEntries>,
}

/// The waits of the promoted entries. Times are in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, Serialize)]
pub(crate) struct ServerWaits {
    /// How many were counted.
    pub(crate) count: u64,
    /// The mean wait; `None` if none was counted.
    pub(crate) mean_ms: Option<u64>,
    /// The longest.
    pub(crate) max_ms: Option<u64>,
    /// Percentiles.
    pub(crate) p50_ms: Option<u64>,
    pub(crate) p90_ms: Option<u64>,
    pub(crate) p99_ms: Option<u64>,
    /// How far off a percentile may be.
    pub(crate) relative_error: f64,
}

/// The most entries in line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct ServerPeak {
    /// How many.
    pub(crate) waiting: u64,
}

/// The entries that are in the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct LiveEntries {
    /// Those in line, absent ones not counted.
    pub(crate) waiting: u64,
    /// The absent ones.
    pub(crate) absent: u64,
    /// Those that may claim.
    pub(crate) ready: u64,
    /// Those that were let in.
    pub(crate) active: u64,
}

impl ServerReport {
    /// What was counted since an earlier report. The waits stay those of the whole queue.
    pub(crate) fn since(mut self, before: &Self) -> Self {
        let earlier = before.totals.fields();
        let now = self.totals.fields();
        let difference = QueueTotals::try_from_fields(|name| {
            let of = |fields: &[(&str, u64)]| {
                fields
                    .iter()
                    .find(|(field, _)| *field == name)
                    .map(|(_, count)| *count)
            };
            // A queue that was reset meanwhile has counted less.
            Ok::<_, std::convert::Infallible>(of(&now).unwrap_or(0).saturating_sub(of(&earlier).unwrap_or(0)))
        });
        let Ok(totals) = difference;
        self.totals = totals;
        self
    }

    /// Whether the waits are those of the rehearsal alone.
    pub(crate) fn has_only_new_waits(&self) -> bool {
        self.waits.count == self.totals.promoted
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn report(entered: u64, waits: u64) -> ServerReport {
        let report = json!({
            "queue": "a", "totals": { "entered": entered, "promoted": entered, "let_in": 3 },
            "waits": { "count": waits, "mean_ms": 5, "max_ms": 9, "p50_ms": 5, "p90_ms": 8, "p99_ms": 9,
                "relative_error": 0.0313, "buckets": [] },
            "peak": { "waiting": 4, "at_ms": 1 }, "live": null,
        });
        serde_json::from_value(report).expect("a report")
    }

    #[test]
    fn a_queue_that_was_in_use_counts_from_the_start_of_the_rehearsal() {
        let since = report(12, 12).since(&report(5, 5));
        assert_eq!((since.totals.entered, since.totals.promoted), (7, 7));
        assert!(!since.has_only_new_waits());
        assert!(report(12, 12).since(&report(0, 0)).has_only_new_waits());
    }
}
