//! The closing of a visitor's page: `DELETE /queues/{queue}/entries/{token}?closed=true` marks a waiting entry, and the next
//! request of the visitor removes the mark. All of this happens only in a queue with `leave_on_close`: see
//! [`vestibule_domain::closing`].

use axum::{
    http::StatusCode,
    response::{IntoResponse, Response},
};
use vestibule_domain::{closing::LEAVE_AFTER_CLOSE_MS, id::EntryId, score::Visit};
use vestibule_line::{CheckIn, LineError, MarkClosingOutcome};
use vestibule_wire::Closing;

use super::view::json;
use crate::{ApiState, problem::Problem, queue::QueueSnapshot};

impl ApiState {
    /// Marks a waiting entry whose page closes. The answer is 202 if the visitor leaves some time later unless a request
    /// comes, and 204 if nothing changed. The browser reads neither, so an entry that does not wait is no failure.
    pub(crate) async fn mark_closing(
        &self,
        snapshot: &QueueSnapshot,
        id: EntryId,
        visit: Option<Visit>,
    ) -> Result<Response, Problem> {
        if !snapshot.settings().leave_on_close {
            return Ok(StatusCode::NO_CONTENT.into_response());
        }
        match self.line.mark_closing(&snapshot.queue, id, visit).await {
            Ok(MarkClosingOutcome::Marked) => {
                let leaves_in_ms = LEAVE_AFTER_CLOSE_MS;
                Ok(json(StatusCode::ACCEPTED, &Closing { leaves_in_ms }))
            }
            Ok(MarkClosingOutcome::Ignored) => Ok(StatusCode::NO_CONTENT.into_response()),
            Err(error) => Err(self.line_problem(&snapshot.queue, error).await),
        }
    }

    /// Removes the mark of the entry of a visitor who enters: a page of the visitor is open.
    pub(crate) async fn keep_open(&self, snapshot: &QueueSnapshot, id: EntryId) -> Result<(), Problem> {
        match self.remove_closing_mark(snapshot, id).await {
            Ok(()) => Ok(()),
            Err(error) => Err(self.line_problem(&snapshot.queue, error).await),
        }
    }

    /// Checks in the visitor who has sent this request, and removes the mark of the entry: a page of the visitor is open. The
    /// end of a held poll is no such request, because the page that began the poll may be closed by then.
    pub(crate) async fn check_in_by_request(
        &self,
        snapshot: &QueueSnapshot,
        id: EntryId,
    ) -> Result<CheckIn, LineError> {
        let check_in = self.line.check_in(&snapshot.queue, id);
        // Both commands are on their way at once.
        let (removed, checked_in) = tokio::join!(self.remove_closing_mark(snapshot, id), check_in);
        removed?;
        checked_in
    }

    async fn remove_closing_mark(&self, snapshot: &QueueSnapshot, id: EntryId) -> Result<(), LineError> {
        if snapshot.settings().leave_on_close {
            self.line.remove_closing_mark(&snapshot.queue, id).await?;
        }
        Ok(())
    }
}
