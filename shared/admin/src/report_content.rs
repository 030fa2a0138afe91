//! What a report consists of, and its result.

use vestibule_backup::{ORDERS_KEPT, OrderLog};
use vestibule_domain::{
    id::QueueId,
    tally::{Histogram, RELATIVE_ERROR_PER_10000, TallySnapshot},
};
use vestibule_line::OperatorView;
use vestibule_wire::results::{DurationReport, LiveCounts, QueueReport, ReportedTotals};

/// What a report consists of.
pub(super) struct ReportContent<'a> {
    pub(super) queue: &'a QueueId,
    pub(super) counted: TallySnapshot,
    /// The entries that are in the line now. `None` if the line does not have this generation of the queue.
    pub(super) live: Option<OperatorView>,
    pub(super) log: OrderLog,
}

impl ReportContent<'_> {
    /// How many orders the log does not have any more.
    pub(super) fn orders_fallen_out(&self) -> u64 {
        self.log.count.saturating_sub(self.log.orders.len() as u64)
    }

    /// The result of the command.
    pub(super) fn into_result(self) -> QueueReport {
        let tally = &self.counted.tally;
        QueueReport {
            queue: self.queue.to_string(),
            generation: self.counted.generation,
            epoch: self.counted.version.epoch,
            as_of_ms: self.counted.at_ms,
            live: self.live.as_ref().map(count_live),
            totals: ReportedTotals {
                let_in: tally.totals.let_in(),
                totals: tally.totals,
            },
            waits: describe_durations(&tally.waits),
            stays: describe_durations(&tally.stays),
            peak: tally.peak,
            orders_kept: ORDERS_KEPT,
            orders_fallen_out: self.orders_fallen_out(),
            orders: self.log.orders,
        }
    }
}

fn describe_durations(durations: &Histogram) -> DurationReport {
    DurationReport {
        count: durations.count(),
        mean_ms: durations.mean_ms(),
        max_ms: (durations.count() > 0).then(|| durations.max_ms()),
        p50_ms: durations.percentile_ms(50),
        p90_ms: durations.percentile_ms(90),
        p99_ms: durations.percentile_ms(99),
        relative_error: f64::from(RELATIVE_ERROR_PER_10000) / 10_000.0,
        buckets: durations.buckets().collect(),
    }
}

fn count_live(view: &OperatorView) -> LiveCounts {
    LiveCounts {
        state: view.state(),
        waiting: view.in_line(),
        absent: view.absent,
        ready: view.ready,
        active: view.active,
        held: view.held,
    }
}
