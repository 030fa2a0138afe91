//! `POST /queues/{queue}/entries/{token}/claim`: the visitor confirms to be present, and the ready entry
//! becomes active. The request is idempotent.

use std::sync::Arc;

use axum::extract::State;
use vestibule_line::ClaimOutcome;

use super::{
    ApiState,
    entry::{EntryBody, EntryViewInput},
    problem::Problem,
    request::{Body, EmptyBody, EntryPath},
    visitor::RawCredentials,
};

pub(super) async fn handle(
    State(edge): State<Arc<ApiState>>,
    EntryPath { queue, id }: EntryPath,
    presented: RawCredentials,
    Body(EmptyBody): Body<EmptyBody>,
) -> Result<EntryBody, Problem> {
    let snapshot = edge.snapshot(&queue).await?;
    presented
        .resolve(&snapshot)?
        .require_ownership(&snapshot.ids, id)?;
    let claimed = edge.query_line_or_fail(&snapshot, id, || edge.line.claim(&queue, id));
    let (standing, change) = match claimed.await? {
        ClaimOutcome::Active {
            status: standing,
            change,
        } => (standing, change),
        ClaimOutcome::StillWaiting(standing) => return Err(Problem::not_your_turn(&standing)),
        ClaimOutcome::NotFound(missing) => {
            return Err(edge.missing_entry_problem(&snapshot, id, missing).await);
        }
    };
    let through = edge.write_change(&snapshot, &change).await?;
    edge.reject_superseded(&snapshot, &standing, &change, &through)
        .await?;
    edge.entry_body(EntryViewInput {
        snapshot: &snapshot,
        id,
        status: standing,
        record: through.record,
        durable: Some(through.durable),
        is_owner_proven: true,
    })
}
