//! What visitors of a finished queue are told. Their clients do not ask again, so the backup is asked first
//! whether the line has lost a turn.

use std::sync::Arc;

use axum::response::Response;
use vestibule_domain::{
    entry_status::EntryStatus,
    id::{EntryId, QueueId},
    queue_state::QueueState,
    record::EntryRecord,
    state::EntryState,
};
use vestibule_line::EntryLookup;

use crate::{
    ApiState,
    problem::{Code, Problem},
    queue::QueueSnapshot,
};

impl ApiState {
    /// Tells the visitor of a waiting entry that the queue is finished. The next tick ends the entry. The
    /// client does not ask again, so the backup is asked first whether the line has lost the visitor's turn.
    pub(crate) async fn reject_finished_wait(
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

    /// Says why the queue is over by settings that say so. The line may have ended a wait by them before this process has
    /// read them, and a client does not ask again.
    pub(crate) async fn explain_end(&self, queue: Option<&QueueId>, response: &mut Response) {
        let is_over = |response: &Response| {
            let problem = response.extensions().get::<Arc<Problem>>();
            problem.is_some_and(|problem| problem.code() == Code::QueueFinished)
        };
        let Some(queue) = queue.filter(|_| is_over(response)) else {
            return;
        };
        let Ok(mut snapshot) = self.queue_cache.get(queue).await else {
            return;
        };
        let problem = response.extensions_mut().get_mut::<Arc<Problem>>();
        let Some(problem) = problem.and_then(Arc::get_mut) else {
            return;
        };
        if snapshot.queue_state() != QueueState::Finished
            && problem.is_of_end_after(snapshot.view.now_ms)
            && let Ok(newer) = self.queue_cache.get_newer_than(&snapshot).await
        {
            snapshot = newer;
        }
        problem.explain_end(snapshot.settings());
    }

    /// Whether the visitor has a turn or a session that the line had lost, and has again now. A client does
    /// not ask again once it is told that the queue is over.
    pub(crate) async fn has_restored_turn(&self, snapshot: &QueueSnapshot, id: EntryId) -> bool {
        let status = self.look_up_status(snapshot, id).await;
        let Ok(EntryLookup::Found(status)) = status else {
            return false;
        };
        let record = self.read_record(snapshot, id).await;
        let reconciled = self.reconcile_status(snapshot, id, status, record).await;
        reconciled.is_ok_and(|(status, _)| status.state() != EntryState::Waiting)
    }
}
