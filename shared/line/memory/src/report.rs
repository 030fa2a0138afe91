//! The reports of one queue in memory.

use vestibule_domain::clock::LineTime;
use vestibule_line::{QueueEvents, QueueTotals, Report, ReportOrder, ReportOutcome};

use super::queue::Queue;

/// The events since the last report.
#[derive(Debug, Default)]
pub(super) struct PendingReport {
    /// When the last report was taken, in Unix milliseconds; 0 if none was.
    reported_at_ms: u64,
    /// The totals at the last report.
    reported_totals: QueueTotals,
    tick_gap_ms: u64,
    waited_ms: u64,
    waited_max_ms: u64,
}

impl PendingReport {
    /// Records the time between two heartbeats, in milliseconds.
    pub(super) fn record_tick_gap(&mut self, gap_ms: u64) {
        self.tick_gap_ms = self.tick_gap_ms.max(gap_ms);
    }

    /// Records the wait of one promoted entry, in milliseconds.
    pub(super) fn record_wait(&mut self, wait_ms: u64) {
        self.waited_ms += wait_ms;
        self.waited_max_ms = self.waited_max_ms.max(wait_ms);
    }

    /// The values under their Redis field names.
    #[cfg(feature = "given-time")]
    pub(super) fn redis_fields(&self) -> [(&'static str, u64); 10] {
        [
            ("tick_gap_ms", self.tick_gap_ms),
            ("waited_ms", self.waited_ms),
            ("waited_max_ms", self.waited_max_ms),
            ("reported_at_ms", self.reported_at_ms),
            ("reported_entered", self.reported_totals.entered),
            ("reported_promoted", self.reported_totals.promoted),
            ("reported_completed", self.reported_totals.completed),
            ("reported_left", self.reported_totals.left),
            ("reported_expired", self.reported_totals.expired),
            ("reported_no_shows", self.reported_totals.no_shows),
        ]
    }
}

impl Queue {
    pub(super) fn take_report(&mut self, time: LineTime, order: ReportOrder) -> ReportOutcome {
        let now_ms = time.ms();
        // A report is due at once if the clock was set back, or while the clocks are apart and line time stands
        // still.
        let passed_ms = now_ms
            .checked_sub(self.unreported.reported_at_ms)
            .filter(|_| !time.clocks.apart)
            .unwrap_or(u64::MAX);
        if passed_ms < order.every_ms {
            let due_in_ms = order.every_ms - passed_ms;
            return ReportOutcome::NotDue { due_in_ms };
        }
        let happened = count_events_since(&self.totals, &self.unreported.reported_totals);
        let is_empty = self.waiting.len() + self.ready.len() + self.active.len() == 0;
        let has_no_events = happened == QueueEvents::default() && self.journal.records.is_empty();
        if is_empty && has_no_events && passed_ms < order.idle_ms {
            let due_in_ms = order.every_ms.min(order.idle_ms - passed_ms);
            return ReportOutcome::NotDue { due_in_ms };
        }
        let taken = std::mem::replace(
            &mut self.unreported,
            PendingReport {
                reported_at_ms: now_ms,
                reported_totals: self.totals,
                ..PendingReport::default()
            },
        );
        let since_ms = |at_ms: u64| now_ms.saturating_sub(at_ms);
        let beat_age_ms = if self.heartbeat_ms > 0 {
            since_ms(self.heartbeat_ms)
        } else {
            0
        };
        let oldest = self
            .journal
            .records
            .front()
            .and_then(|record| record.changes.first());
        ReportOutcome::Due(Box::new(Report {
            now_ms,
            waiting: self.waiting.len(),
            ready: self.ready.len(),
            active: self.active.len(),
            journal_len: self.journal.len(),
            dead_letters: self.journal.dead_letters.len() as u64,
            backup_lag_ms: oldest.map_or(0, |change| since_ms(change.at_ms)),
            head: self.waiting.first(),
            tail: self.waiting.last(),
            tick_age_ms: taken.tick_gap_ms.max(beat_age_ms),
            waited_ms: taken.waited_ms,
            waited_max_ms: taken.waited_max_ms,
            events: happened,
            generation: self.configuration.generation,
            check_age_ms: since_ms(self.check_progress.checked_at_ms()),
        }))
    }
}

fn count_events_since(now: &QueueTotals, before: &QueueTotals) -> QueueEvents {
    QueueEvents {
        entered: now.entered - before.entered,
        promoted: now.promoted - before.promoted,
        completed: now.completed - before.completed,
        left: now.left - before.left,
        expired: now.expired - before.expired,
        no_shows: now.no_shows - before.no_shows,
    }
}
