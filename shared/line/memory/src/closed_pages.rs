//! The waits of visitors of one queue in memory who have closed the page.

use async_trait::async_trait;
use vestibule_domain::{
    change::{EndReason, Event},
    clock::LineTime,
    closing::{LEAVE_AFTER_CLOSE_MS, is_mark_of_visit},
    entry_status::EntryStatus,
    fact::Fact,
    id::{EntryId, QueueId},
    score::Visit,
};
use vestibule_line::{ClosingLine, LineError, MarkClosingOutcome};

use super::{deadline_set::DeadlineSet, memory_line::MemoryLine, promote::Events, queue::Queue};

#[async_trait]
impl ClosingLine for MemoryLine {
    async fn mark_closing(
        &self,
        queue: &QueueId,
        id: EntryId,
        visit: Option<Visit>,
    ) -> Result<MarkClosingOutcome, LineError> {
        self.with_queue(queue, |queue, time| queue.mark_closing(time, id, visit))
    }

    async fn remove_closing_mark(&self, queue: &QueueId, id: EntryId) -> Result<(), LineError> {
        let removed = self.with_queue(queue, |queue, _| queue.closing.remove(id));
        match removed {
            Err(LineError::QueueNotFound) => Ok(()),
            removed => removed.map(drop),
        }
    }
}

impl Queue {
    fn mark_closing(&mut self, time: LineTime, id: EntryId, visit: Option<Visit>) -> MarkClosingOutcome {
        let Ok(EntryStatus::Waiting { score, .. }) = self.find_entry(time.ms(), id) else {
            return MarkClosingOutcome::Ignored;
        };
        let is_other_visit = visit.is_some_and(|visit| visit != score.visit());
        if is_other_visit || time.clocks.apart || !self.settings().leave_on_close {
            return MarkClosingOutcome::Ignored;
        }
        self.closing.insert(time.ms(), id);
        MarkClosingOutcome::Marked
    }

    /// Lets at most `limit` visitors leave, those first who closed the page first. If `may_be_unheard`, requests of
    /// visitors may not have reached the line lately, so no mark counts. Returns how many left.
    pub(super) fn end_closed_pages(
        &mut self,
        now_ms: u64,
        may_be_unheard: bool,
        limit: u64,
        events: &mut Events,
    ) -> u64 {
        if may_be_unheard {
            self.closing = DeadlineSet::default();
        }
        let mut left = 0;
        for _ in 0..limit {
            let bound_ms = now_ms.saturating_sub(LEAVE_AFTER_CLOSE_MS);
            let Some((marked_at_ms, id)) = self.closing.pop_due(bound_ms) else {
                break;
            };
            let waits = self.settings().leave_on_close && self.waiting.score(id).is_some();
            let visit = self.stored_entry(now_ms, id).map(|entry| entry.fact.visit);
            let Some(visit) = visit.filter(|visit| waits && is_mark_of_visit(marked_at_ms, *visit)) else {
                continue;
            };
            self.remove_entry(id);
            let (fact, how) = (Fact::ended(visit), EndReason::Left);
            events.push((id, Event::Ended { fact, how }));
            left += 1;
        }
        self.totals.left += left;
        left
    }
}
