//! The reports of one queue in memory.

use vestibule_domain::clock::LineTime;
use vestibule_line::{QueueEvents, QueueTotals, Report, ReportOrder, ReportOutcome};

use super::{pending_report::PendingReport, queue::Queue};

impl Queue {
    pub(super) fn take_report(&mut self, time: LineTime, order: ReportOrder) -> ReportOutcome {
        let now_ms = time.ms();
        // A report is due at once if the clock was set back, or while the clocks are apart and line
        // time stands still.
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
        let has_no_events = happened == QueueEvents::default() && self.journal.len() == 0;
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
        let firsts = self.journal.firsts();
        let oldest_at_ms = firsts
            .filter_map(|record| record.changes.first())
            .map(|change| change.at_ms)
            .min();
        ReportOutcome::Due(Box::new(Report {
            now_ms,
            waiting: self.waiting.len(),
            ready: self.ready.len(),
            active: self.active.len(),
            journal_len: self.journal.len(),
            dead_letters: self.journal.dead_letters.len() as u64,
            backup_lag_ms: oldest_at_ms.map_or(0, since_ms),
            head: self.head().filter(|_| !self.configuration.is_scheduled(now_ms)),
            tail: self.waiting.last(),
            tick_age_ms: taken.tick_gap_ms.max(beat_age_ms),
            waited_ms: taken.waited_ms,
            waited_max_ms: taken.waited_max_ms,
            events: happened,
            generation: self.configuration.generation,
            check_age_ms: since_ms(self.check_progress.checked_at_ms),
            called: self.called(),
            present: self.present(),
            absent: self.absent(),
            load_age_ms: self.load.map(|load| load.age_ms(now_ms)),
        }))
    }
}

fn count_events_since(now: &QueueTotals, before: &QueueTotals) -> QueueEvents {
    QueueEvents {
        // A provisional place that was dropped does not count as entered any more.
        entered: now.entered.saturating_sub(before.entered),
        promoted: now.promoted - before.promoted,
        completed: now.completed - before.completed,
        left: now.left - before.left,
        expired: now.expired - before.expired,
        no_shows: now.no_shows - before.no_shows,
        absences: now.absences - before.absences,
    }
}
