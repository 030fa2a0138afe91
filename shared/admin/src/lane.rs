//! The commands `lane` and `promote` for one entry: change where a waiting entry stands.

use serde_json::Value;
use vestibule_domain::{change::Change, entry_status::EntryStatus, id::QueueId, lane::Lane};
use vestibule_engine::write_through::write_through;
use vestibule_line::{EntryPromotionOutcome, LaneMoveOutcome, PromoteEntryOrder};
use vestibule_wire::results::{EntryPromotion, LaneMove, to_value};

use super::{Admin, Problem, entry_partition, selectors::EntrySelector};

impl Admin {
    /// Moves a waiting entry to a lane.
    pub(super) async fn move_to_lane(
        &self,
        queue: &QueueId,
        whom: &EntrySelector,
        lane: Lane,
    ) -> Result<Value, Problem> {
        let stored = self.read_stored_queue(queue).await?;
        let id = self.entry_id(queue, &stored, whom).await?;
        let (from, status, durable) = match self.line.move_to_lane(queue, id, lane).await? {
            LaneMoveOutcome::Moved { from, status, change } => {
                let partition = entry_partition(queue, &stored);
                let write = write_through(&self.line, &*self.backup, &partition, &change).await?;
                (from, status, write.durable)
            }
            LaneMoveOutcome::Unchanged(status) => (lane, status, true),
            LaneMoveOutcome::NotWaiting(status) => return Err(Problem::not_waiting(status.state())),
            LaneMoveOutcome::NotFound(_) => return Err(Problem::unknown_entry()),
        };
        let position = match status {
            EntryStatus::Waiting { position, .. } => Some(position),
            EntryStatus::Ready { .. } | EntryStatus::Active { .. } => None,
        };
        Ok(to_value(LaneMove {
            queue: queue.to_string(),
            token: id.to_string(),
            lane: lane.number(),
            from_lane: from.number(),
            position,
            visit: status.visit().number(),
            durable,
        }))
    }

    /// Promotes one entry, wherever in line it is: within the pace, or beyond it.
    pub(super) async fn promote_one(
        &self,
        queue: &QueueId,
        whom: &EntrySelector,
        over_pace: bool,
    ) -> Result<Value, Problem> {
        let stored = self.read_stored_queue(queue).await?;
        let id = self.entry_id(queue, &stored, whom).await?;
        let order = PromoteEntryOrder { id, over_pace };
        let change: Change = match self.line.promote_entry(queue, order).await? {
            EntryPromotionOutcome::Promoted { change, .. } => change,
            EntryPromotionOutcome::Limited(limit) => {
                let view = self.line.queue_view(queue).await?;
                let state = view.configuration.queue_state(view.now_ms);
                return Err(Problem::not_promoted(limit, state));
            }
            EntryPromotionOutcome::NotWaiting(status) => return Err(Problem::not_waiting(status.state())),
            EntryPromotionOutcome::NotFound(_) => return Err(Problem::unknown_entry()),
        };
        let partition = entry_partition(queue, &stored);
        let write = write_through(&self.line, &*self.backup, &partition, &change).await?;
        let fact = change.fact();
        Ok(to_value(EntryPromotion {
            queue: queue.to_string(),
            token: id.to_string(),
            promoted: 1,
            over_pace,
            visit: fact.visit.number(),
            claim_by_ms: fact.deadline_ms(),
            durable: write.durable,
        }))
    }
}
