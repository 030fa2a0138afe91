//! Logs what an agreement of line and backup changed in the line.

use vestibule_backup::EntryPartition;
use vestibule_domain::{
    fact::{Fact, Turn},
    id::EntryId,
    state::EntryState,
};

use super::agree::{Agreed, Place};

/// Logs that the line took an entry over from its record, or removed it.
pub(super) fn log_agreement(partition: &EntryPartition, id: EntryId, agreed: &Agreed) {
    let queue = &partition.queue;
    if agreed.has_removed {
        tracing::warn!(
            event = "entry.stale_removed", %queue, entry = %id,
            "removed an entry from Redis that DynamoDB shows as ended"
        );
    }
    let Place::Live(status) = agreed.place else {
        return;
    };
    if !agreed.has_adopted {
        return;
    }
    let state = status.state().name();
    let came_back =
        |fact: Fact| fact.live_state() == Some(EntryState::Waiting) && fact.turn() == Some(Turn::Second);
    if agreed
        .record
        .as_ref()
        .is_some_and(|record| came_back(record.fact))
    {
        tracing::info!(
            event = "entry.missed_turn_restored", %queue, entry = %id,
            "gave a visitor who missed the turn and returned within the grace the old place"
        );
    } else {
        tracing::warn!(
            event = "entry.restored", %queue, entry = %id, state,
            "restored an entry to the state that DynamoDB shows and Redis had lost"
        );
    }
}
