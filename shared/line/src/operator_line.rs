//! What an operator does with one waiting entry.

use async_trait::async_trait;
use vestibule_domain::{
    id::{EntryId, QueueId},
    lane::Lane,
};

use super::{EntryPromotionOutcome, LaneMoveOutcome, LineError, PromoteEntryOrder, QueueLine};

/// Moving one waiting entry to another lane, and promoting one out of turn.
#[async_trait]
pub trait OperatorLine: QueueLine {
    /// Moves a waiting entry to a lane. The order of joining stays: among the entries of the new lane the
    /// entry stands where it would if it had entered that lane. A visitor who was present stays present.
    async fn move_to_lane(
        &self,
        queue: &QueueId,
        id: EntryId,
        lane: Lane,
    ) -> Result<LaneMoveOutcome, LineError>;

    /// Promotes one waiting entry, wherever in line it is. It takes a token of the pace, or goes beyond
    /// the pace if the order says so, but never beyond the capacity. It does not count as gone ahead,
    /// because no entry goes past the head of its lane by it.
    async fn promote_entry(
        &self,
        queue: &QueueId,
        order: PromoteEntryOrder,
    ) -> Result<EntryPromotionOutcome, LineError>;
}
