//! Implements what operators do with entries. Each method sends the script of its name.

use async_trait::async_trait;
use vestibule_domain::{
    id::{EntryId, QueueId},
    lane::Lane,
};
use vestibule_line::{
    EntryPromotionOutcome, EvictOrder, EvictionLine, LaneMoveOutcome, LineError, OperatorLine,
    PromoteEntryOrder, WaitingPresence,
};

use super::{RedisLine, evict_waiting, move_to_lane, presence_many, promote_entry};

#[async_trait]
impl EvictionLine for RedisLine {
    async fn presence_many(
        &self,
        queue: &QueueId,
        ids: &[EntryId],
    ) -> Result<Vec<Option<WaitingPresence>>, LineError> {
        presence_many::presence_many(self, queue, ids).await
    }

    async fn evict_waiting(&self, queue: &QueueId, order: &EvictOrder) -> Result<u64, LineError> {
        evict_waiting::evict_waiting(self, queue, order).await
    }
}

#[async_trait]
impl OperatorLine for RedisLine {
    async fn move_to_lane(
        &self,
        queue: &QueueId,
        id: EntryId,
        lane: Lane,
    ) -> Result<LaneMoveOutcome, LineError> {
        move_to_lane::move_to_lane(self, queue, id, lane).await
    }

    async fn promote_entry(
        &self,
        queue: &QueueId,
        order: PromoteEntryOrder,
    ) -> Result<EntryPromotionOutcome, LineError> {
        promote_entry::promote_entry(self, queue, order).await
    }
}
