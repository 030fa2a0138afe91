//! The numbers of one queue at one moment.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An estimated wait, as the admin function shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WaitRange {
    /// The lower end, in seconds.
    low: u64,
    /// The upper end, in seconds.
    high: u64,
}

/// How many promoted entries there were, and how long they had waited together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) struct WaitSum {
    count: u64,
    sum_ms: u64,
}

impl WaitSum {
    /// The mean wait of the entries promoted since an earlier sum, in seconds. `None` if there was none, or if the queue
    /// began anew.
    pub(crate) fn mean_since(self, earlier: Self) -> Option<f64> {
        let count = self.count.checked_sub(earlier.count).filter(|count| *count > 0)?;
        let sum_ms = self.sum_ms.checked_sub(earlier.sum_ms)?;
        #[allow(clippy::cast_precision_loss)] // A chart shows it.
        Some((sum_ms as f64 / count as f64 / 100.0).round() / 10.0)
    }
}

/// The numbers of one queue. A number that the admin function did not tell is `None`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct QueueNumbers {
    /// Waiting entries, absent ones not counted.
    pub(crate) waiting: Option<u64>,
    called: Option<u64>,
    present: Option<u64>,
    absent: Option<u64>,
    ready: Option<u64>,
    active: Option<u64>,
    held: Option<u64>,
    capacity: Option<u64>,
    batch: Option<u64>,
    interval_seconds: Option<f64>,
    paused: Option<bool>,
    state: Option<String>,
    /// Totals since the generation of the queue began.
    promoted: Option<u64>,
    fast_tracked: Option<u64>,
    entered: Option<u64>,
    completed: Option<u64>,
    left: Option<u64>,
    no_shows: Option<u64>,
    /// For the last in line.
    estimated_wait_seconds: Option<WaitRange>,
    /// The mean wait of the entries promoted since the sample before.
    pub(crate) had_wait_seconds: Option<f64>,
}

impl QueueNumbers {
    /// Reads the numbers of a row of `list`, or of the answer of `stats`, which has the totals in a member.
    pub(crate) fn from_answer(answer: &Value) -> Self {
        let mut fields: BTreeMap<String, Value> = BTreeMap::new();
        for source in [answer, &answer["totals"]] {
            let members = source.as_object().into_iter().flatten();
            fields.extend(members.map(|(name, value)| (name.clone(), value.clone())));
        }
        fields.remove("had_wait_seconds");
        let fields = fields.into_iter().collect();
        // An answer of another version, with a field of another type, has no numbers for this page.
        serde_json::from_value(Value::Object(fields)).unwrap_or_default()
    }
}

/// The numbers of one queue with their time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Sample {
    /// When the console had the numbers, in Unix milliseconds.
    pub(crate) at_ms: u64,
    #[serde(flatten)]
    pub(crate) numbers: QueueNumbers,
}

/// Reads the sum of waits of an answer of `stats`.
pub(crate) fn wait_sum(stats: &Value) -> Option<WaitSum> {
    serde_json::from_value(stats["waits"].clone()).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_come_from_rows_and_from_stats() {
        let row =
            QueueNumbers::from_answer(&json!({ "queue": "q", "waiting": 3, "paused": true, "mode": "x" }));
        assert_eq!(
            (row.waiting, row.paused, row.capacity),
            (Some(3), Some(true), None)
        );
        let stats = QueueNumbers::from_answer(&json!({
            "waiting": 4, "interval_seconds": 2.0, "totals": { "entered": 9, "evicted": 1, "fast_tracked": 2 },
            "estimated_wait_seconds": { "low": 3, "high": 5 },
        }));
        assert_eq!(
            (stats.waiting, stats.entered, stats.fast_tracked),
            (Some(4), Some(9), Some(2))
        );
        let shown = serde_json::to_value(&stats).expect("numbers are JSON");
        assert_eq!(shown["estimated_wait_seconds"], json!({ "low": 3, "high": 5 }));
        assert_eq!(shown["left"], Value::Null);
    }

    #[test]
    fn the_wait_had_is_that_of_the_entries_in_between() {
        let sum = |count, sum_ms| WaitSum { count, sum_ms };
        assert_eq!(sum(12, 130_000).mean_since(sum(10, 100_000)), Some(15.0));
        assert_eq!(sum(10, 100_000).mean_since(sum(10, 100_000)), None);
        // The queue was reset.
        assert_eq!(sum(1, 5_000).mean_since(sum(10, 100_000)), None);
    }
}
