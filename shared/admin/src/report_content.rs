//! What a report consists of, and how it is shown as JSON.

use serde_json::{Value, json};
use vestibule_backup::{ORDERS_KEPT, OrderLog};
use vestibule_domain::{
    id::QueueId,
    tally::{Histogram, RELATIVE_ERROR_PER_10000, TallySnapshot},
};
use vestibule_line::QueueView;

/// What a report consists of.
pub(super) struct Report<'a> {
    pub(super) queue: &'a QueueId,
    pub(super) counted: TallySnapshot,
    /// The entries that are in the line now. `None` if the line does not have this generation of the queue.
    pub(super) live: Option<QueueView>,
    pub(super) log: OrderLog,
}

impl Report<'_> {
    /// How many orders the log does not have any more.
    pub(super) fn orders_fallen_out(&self) -> u64 {
        self.log.count.saturating_sub(self.log.orders.len() as u64)
    }

    /// The report as JSON.
    pub(super) fn to_json(&self) -> Value {
        let tally = &self.counted.tally;
        let mut totals = json!(tally.totals);
        totals["let_in"] = json!(tally.totals.let_in());
        json!({
            "queue": self.queue.as_str(),
            "generation": self.counted.generation,
            "epoch": self.counted.version.epoch,
            "as_of_ms": self.counted.at_ms,
            "live": self.live.as_ref().map(live_to_json),
            "totals": totals,
            "waits": histogram_to_json(&tally.waits),
            "stays": histogram_to_json(&tally.stays),
            "peak": tally.peak,
            "orders": self.log.orders,
            "orders_kept": ORDERS_KEPT,
            "orders_fallen_out": self.orders_fallen_out(),
        })
    }
}

/// The percentiles that a report shows.
pub(super) const PERCENTILES: [(&str, u64); 3] = [("p50_ms", 50), ("p90_ms", 90), ("p99_ms", 99)];

fn histogram_to_json(durations: &Histogram) -> Value {
    let mut shown = json!({
        "count": durations.count(),
        "mean_ms": durations.mean_ms(),
        "max_ms": (durations.count() > 0).then(|| durations.max_ms()),
        "relative_error": f64::from(RELATIVE_ERROR_PER_10000) / 10_000.0,
        "buckets": durations.buckets().collect::<Vec<_>>(),
    });
    for (name, percent) in PERCENTILES {
        shown[name] = json!(durations.percentile_ms(percent));
    }
    shown
}

fn live_to_json(view: &QueueView) -> Value {
    json!({
        "state": view.state(),
        "waiting": view.in_line(),
        "absent": view.absent,
        "ready": view.ready,
        "active": view.active,
        "held": view.held,
    })
}
