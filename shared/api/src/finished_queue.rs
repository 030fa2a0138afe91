//! What visitors of a finished queue are told. Their clients do not ask again, so the backup is asked first
//! whether the line has lost a turn.

use vestibule_domain::{
    entry_status::EntryStatus, id::EntryId, queue_state::QueueState, record::EntryRecord, state::EntryState,
};
use vestibule_line::EntryLookup;

use super::{ApiState, problem::Problem, queue_cache::QueueSnapshot};

impl ApiState {
    /// Tells the visitor of a waiting entry that the queue is finished. The next tick ends the entry. The
    /// client does not ask again, so the backup is asked first whether the line has lost the visitor's turn.
    pub(super) async fn reject_finished_wait(
        &self,
        snapshot: &QueueSnapshot,
        id: EntryId,
        status: EntryStatus,
        record: Option<EntryRecord>,
    ) -> Result<(EntryStatus, Option<EntryRecord>), Problem> {
        let is_waiting = status.state() == EntryState::Waiting;
        if !is_waiting || snapshot.queue_state() != QueueState::Finished {
            return Ok((status, record));
        }
        let stored = self.read_record(snapshot, id).await;
        let (status, record) = self.reconcile_status(snapshot, id, status, stored).await?;
        if status.state() == EntryState::Waiting {
            return Err(Problem::queue_finished(snapshot.settings()));
        }
        Ok((status, record))
    }

    /// Whether the visitor has a turn or a session that the line had lost, and has again now. A client does
    /// not ask again once it is told that the queue is over.
    pub(super) async fn has_restored_turn(&self, snapshot: &QueueSnapshot, id: EntryId) -> bool {
        let status = self.look_up_status(snapshot, id).await;
        let Ok(EntryLookup::Found(status)) = status else {
            return false;
        };
        let record = self.read_record(snapshot, id).await;
        let reconciled = self.reconcile_status(snapshot, id, status, record).await;
        reconciled.is_ok_and(|(status, _)| status.state() != EntryState::Waiting)
    }
}
