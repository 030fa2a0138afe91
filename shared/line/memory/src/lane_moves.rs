//! Moves entries of one queue in memory to other lanes, by order of an operator.

use async_trait::async_trait;
use vestibule_domain::{
    change::Event,
    clock::LineTime,
    entry_status::EntryStatus,
    fact::Turn,
    id::{EntryId, QueueId},
    lane::Lane,
    score::WaitScore,
};
use vestibule_line::{
    EntryPromotionOutcome, LaneMoveOutcome, LineError, OperatorLine, PromoteEntryOrder, Tick,
};

use super::{account::Account, memory_line::MemoryLine, queue::Queue};

#[async_trait]
impl OperatorLine for MemoryLine {
    async fn move_to_lane(
        &self,
        queue: &QueueId,
        id: EntryId,
        lane: Lane,
    ) -> Result<LaneMoveOutcome, LineError> {
        let (outcome, tick) = self.with_queue(queue, |queue, time| queue.move_to_lane(time, id, lane))?;
        if let Some(tick) = tick {
            self.publish_tick(queue, tick);
        }
        Ok(outcome)
    }

    async fn promote_entry(
        &self,
        queue: &QueueId,
        order: PromoteEntryOrder,
    ) -> Result<EntryPromotionOutcome, LineError> {
        let (outcome, tick) = self.with_queue(queue, |queue, time| queue.promote_entry(time, order))?;
        if let Some(tick) = tick {
            self.publish_tick(queue, tick);
        }
        Ok(outcome)
    }
}

impl Queue {
    /// Moves a waiting entry to a lane. The second value is the message that wakes the poll of the
    /// visitor, if the entry moved.
    fn move_to_lane(&mut self, time: LineTime, id: EntryId, lane: Lane) -> (LaneMoveOutcome, Option<Tick>) {
        let now_ms = time.ms();
        let status = match self.find_entry(now_ms, id) {
            Ok(status) => status,
            Err(not_found) => return (LaneMoveOutcome::NotFound(not_found), None),
        };
        let (EntryStatus::Waiting { score: old_place, .. }, Account::Live(entry)) =
            (status, self.account(now_ms, id))
        else {
            return (LaneMoveOutcome::NotWaiting(status), None);
        };
        let from = Lane::new(old_place.lane().into()).unwrap_or_default();
        if from == lane {
            return (LaneMoveOutcome::Unchanged(self.lane_status(old_place)), None);
        }
        let was_present = self
            .presence
            .as_ref()
            .is_some_and(|presence| presence.present.contains_key(&old_place));
        let place = old_place.in_lane(lane);
        // A later move is a greater fact, also if line time stands still.
        let moved_at_ms = now_ms.max(entry.fact.step_ms + 1);
        let turn = entry.fact.turn().unwrap_or(Turn::First);
        self.remove_entry(id);
        self.put_waiting(id, place, entry.fact.visit, turn);
        self.waiting.set_moved_at_ms(id, moved_at_ms);
        self.put_back(place, id, was_present);
        self.has_lanes = true;
        let event = Event::LaneMoved {
            place,
            turn,
            moved_at_ms,
        };
        let change = self.new_change(time.us, id, event);
        let tick = Tick {
            through: old_place,
            version: change.version,
            at_ms: now_ms,
            claim_by_ms: 0,
        };
        let status = self.lane_status(place);
        (LaneMoveOutcome::Moved { from, status, change }, Some(tick))
    }

    /// The status of a waiting entry with its position in the lane.
    fn lane_status(&self, score: WaitScore) -> EntryStatus {
        let position = self.position_in_lane(score);
        EntryStatus::Waiting { score, position }
    }
}
