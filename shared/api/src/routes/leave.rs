//! `DELETE /queues/{queue}/entries/{token}`: ends the visit. The entry becomes left. The slot of an
//! active one is held while a pass can still be shown. With `closed=true` the visitor only closes the page:
//! see [`crate::entries::closing`].

use std::sync::Arc;

use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use vestibule_domain::{id::EntryId, score::Visit};
use vestibule_engine::{missing_entry::MissingEntryOutcome, reconcile_entry::ReconciledEntry};
use vestibule_line::{EntryLookup, LeaveOutcome, LeaveReason};

use super::request::{EntryPath, QueryParams};
use crate::{
    ApiState, entries::missing::outcome_problem, problem::Problem, queue::QueueSnapshot,
    who::visitor::RawCredentials,
};

pub(crate) async fn handle(
    State(state): State<Arc<ApiState>>,
    EntryPath { queue, id }: EntryPath,
    raw_credentials: RawCredentials,
    queries: QueryParams,
) -> Result<Response, Problem> {
    let (visit, is_closed) = (queries.visit()?, queries.is_closed()?);
    let snapshot = state.snapshot(&queue).await?;
    state.require_visitor(&snapshot, raw_credentials, id)?;
    if is_closed {
        return state.mark_closing(&snapshot, id, visit).await;
    }
    state.end_visit(&snapshot, id, visit, LeaveReason::Leave).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

impl ApiState {
    /// Ends a visit. If the visit has already ended, or the entry is in another visit than the
    /// named one, this changes nothing and succeeds.
    pub(crate) async fn end_visit(
        &self,
        snapshot: &QueueSnapshot,
        id: EntryId,
        visit: Option<Visit>,
        departure: LeaveReason,
    ) -> Result<(), Problem> {
        for _ in 0..2 {
            match self.line.leave(&snapshot.queue, id, visit, departure).await {
                Ok(LeaveOutcome::Ended(change)) => {
                    return self.write_change(snapshot, &change).await.map(drop);
                }
                Ok(LeaveOutcome::OtherVisit) => {
                    if !self.has_lost_visit(snapshot, id, visit).await? {
                        return Ok(());
                    }
                }
                Ok(LeaveOutcome::NotActive(status)) => return Err(Problem::not_your_turn(&status)),
                Ok(LeaveOutcome::NotFound(missing)) => {
                    match self.resolve_missing_entry(snapshot, id, missing).await? {
                        // The visit has already ended, which is what the caller wants.
                        MissingEntryOutcome::Ended(_) | MissingEntryOutcome::Unconfirmed(_) => return Ok(()),
                        // The line had lost the entry and has it again, so the next round can end it.
                        MissingEntryOutcome::Restored(_) => {}
                        other => return Err(outcome_problem(other, snapshot)),
                    }
                }
                Err(error) => return Err(self.line_problem(&snapshot.queue, error).await),
            }
        }
        Err(outcome_problem(MissingEntryOutcome::Unclear, snapshot))
    }

    /// Whether the line lost the named visit and still has an earlier one of the entry. If so, the
    /// line has what the backup knows of the entry afterwards.
    async fn has_lost_visit(
        &self,
        snapshot: &QueueSnapshot,
        id: EntryId,
        named: Option<Visit>,
    ) -> Result<bool, Problem> {
        let status = match self.line.status(&snapshot.queue, id).await {
            Ok(EntryLookup::Found(status)) => status,
            Ok(EntryLookup::NotFound(missing)) => {
                let outcome = self.resolve_missing_entry(snapshot, id, missing).await?;
                return Ok(matches!(outcome, MissingEntryOutcome::Restored(_)));
            }
            Err(error) => return Err(self.line_problem(&snapshot.queue, error).await),
        };
        if named.is_none_or(|named| named <= status.visit()) {
            return Ok(false);
        }
        let partition = snapshot.partition();
        let record = match self.backup.read_entry(&partition, id).await {
            Ok(record) => record,
            Err(error) => return Err(Problem::backup_unavailable(&error)),
        };
        match self
            .entry_context(&partition)
            .reconcile_status(id, status, record)
            .await
        {
            // If line and backup agree on an earlier visit, the named one never began.
            Ok(ReconciledEntry::Live { status, .. }) => {
                Ok(named.is_some_and(|named| named <= status.visit()))
            }
            Ok(ReconciledEntry::Missing(_)) => Ok(true),
            Err(error) => Err(self.missing_entry_error_problem(snapshot, error).await),
        }
    }
}
