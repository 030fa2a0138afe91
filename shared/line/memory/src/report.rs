//! The reports of one queue in memory.

use vestibule_domain::clock::LineTime;
use vestibule_line::{Happened, Report, ReportOrder, Reported, Totals};

use super::queue::Queue;

/// The events since the last report.
#[derive(Debug, Default)]
pub(super) struct Unreported {
    /// When the last report was taken, in Unix milliseconds; 0 if none was.
    reported_at_ms: u64,
    /// The totals at the last report.
    reported: Totals,
    tick_gap_ms: u64,
    waited_ms: u64,
    waited_max_ms: u64,
}

impl Unreported {
    /// Records the time between two heartbeats, in milliseconds.
    pub(super) fn tick_gap(&mut self, gap_ms: u64) {
        self.tick_gap_ms = self.tick_gap_ms.max(gap_ms);
    }

    /// Records the wait of one promoted entry, in milliseconds.
    pub(super) fn waited(&mut self, wait_ms: u64) {
        self.waited_ms += wait_ms;
        self.waited_max_ms = self.waited_max_ms.max(wait_ms);
    }

    /// The values under their Redis field names.
    #[cfg(feature = "given-time")]
    pub(super) fn numbers(&self) -> [(&'static str, u64); 10] {
        [
            ("tick_gap_ms", self.tick_gap_ms),
            ("waited_ms", self.waited_ms),
            ("waited_max_ms", self.waited_max_ms),
            ("reported_at_ms", self.reported_at_ms),
            ("reported_entered", self.reported.entered),
            ("reported_promoted", self.reported.promoted),
            ("reported_completed", self.reported.completed),
            ("reported_left", self.reported.left),
            ("reported_expired", self.reported.expired),
            ("reported_no_shows", self.reported.no_shows),
        ]
    }
}

impl Queue {
    pub(super) fn report(&mut self, time: LineTime, order: ReportOrder) -> Reported {
        let now_ms = time.ms();
        // A report is due at once if the clock was set back, or while the clocks are apart and line time stands
        // still.
        let passed_ms = now_ms
            .checked_sub(self.unreported.reported_at_ms)
            .filter(|_| !time.clocks.apart)
            .unwrap_or(u64::MAX);
        if passed_ms < order.every_ms {
            let due_in_ms = order.every_ms - passed_ms;
            return Reported::Early { due_in_ms };
        }
        let happened = happened(&self.totals, &self.unreported.reported);
        let nobody = self.waiting.len() + self.ready.len() + self.active.len() == 0;
        let nothing = happened == Happened::default() && self.journal.records.is_empty();
        if nobody && nothing && passed_ms < order.idle_ms {
            let due_in_ms = order.every_ms.min(order.idle_ms - passed_ms);
            return Reported::Early { due_in_ms };
        }
        let taken = std::mem::replace(
            &mut self.unreported,
            Unreported {
                reported_at_ms: now_ms,
                reported: self.totals,
                ..Unreported::default()
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
        Reported::Due(Box::new(Report {
            now_ms,
            waiting: self.waiting.len(),
            ready: self.ready.len(),
            active: self.active.len(),
            journal: self.journal.len(),
            aside: self.journal.aside.len() as u64,
            backup_lag_ms: oldest.map_or(0, |change| since_ms(change.at_ms)),
            head: self.waiting.first(),
            tail: self.waiting.last(),
            tick_age_ms: taken.tick_gap_ms.max(beat_age_ms),
            waited_ms: taken.waited_ms,
            waited_max_ms: taken.waited_max_ms,
            happened,
            generation: self.configuration.generation,
            check_age_ms: since_ms(self.checks.checked_at_ms()),
        }))
    }
}

fn happened(now: &Totals, before: &Totals) -> Happened {
    Happened {
        entered: now.entered - before.entered,
        promoted: now.promoted - before.promoted,
        completed: now.completed - before.completed,
        left: now.left - before.left,
        expired: now.expired - before.expired,
        no_shows: now.no_shows - before.no_shows,
    }
}
