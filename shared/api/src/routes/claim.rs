//! `POST /queues/{queue}/entries/{token}/claim`: the visitor confirms to be present, and the ready entry
//! becomes active. The request is idempotent.

use std::sync::Arc;

use axum::extract::State;
use vestibule_line::ClaimOutcome;
use vestibule_wire::EmptyBody;

use super::request::{Body, EntryPath};
use crate::{
    ApiState,
    entries::view::{EntryBody, EntryViewInput},
    problem::Problem,
    who::visitor::RawCredentials,
};

pub(crate) async fn handle(
    State(state): State<Arc<ApiState>>,
    EntryPath { queue, id }: EntryPath,
    raw_credentials: RawCredentials,
    _: Body<EmptyBody>,
) -> Result<EntryBody, Problem> {
    let snapshot = state.snapshot(&queue).await?;
    state.require_visitor(&snapshot, raw_credentials, id)?;
    let claimed = state.query_line_or_fail(&snapshot, id, || state.line.claim(&queue, id));
    let (status, change) = match claimed.await? {
        ClaimOutcome::Active { status, change } => (status, change),
        ClaimOutcome::StillWaiting(status) => {
            // A visitor who claims too early is present, and the gateway may refuse the polls that say so otherwise.
            if let Err(error) = state.check_in_by_request(&snapshot, id).await {
                return Err(state.line_problem(&queue, error).await);
            }
            let (status, _) = state.reject_finished_wait(&snapshot, id, status, None).await?;
            return Err(Problem::not_your_turn(&status));
        }
        ClaimOutcome::NotFound(missing) => {
            return Err(state.missing_entry_problem(&snapshot, id, missing).await);
        }
    };
    let write = state.write_change(&snapshot, &change).await?;
    ApiState::reject_superseded(&change, &write)?;
    state.entry_body(EntryViewInput {
        snapshot: &snapshot,
        id,
        status,
        lane: None,
        has_entered: false,
        record: write.record,
        durable: Some(write.durable),
        is_owner_proven: true,
    })
}
