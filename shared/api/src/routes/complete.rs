//! `POST /queues/{queue}/entries/{token}/complete`: the protected service has finished with a visitor,
//! which frees the slot.

use std::sync::Arc;

use axum::{extract::State, http::StatusCode};
use vestibule_line::LeaveReason;
use vestibule_wire::CompleteRequest;

use super::request::{Body, EntryPath};
use crate::{
    ApiState,
    problem::Problem,
    who::{gateway::Gateway, named_visitor::NamedVisitor},
};

pub(crate) async fn handle(
    State(state): State<Arc<ApiState>>,
    EntryPath { queue, id }: EntryPath,
    gateway: Gateway,
    Body(request): Body<CompleteRequest>,
) -> Result<StatusCode, Problem> {
    state.require_service(&gateway)?;
    let named = NamedVisitor::from(request);
    let snapshot = state.snapshot(&queue).await?;
    // A pass names its visit, so it never completes a later one.
    let pass = state.verify_named_visitor(&snapshot, id, &named).await?;
    let visit = pass.map(|pass| pass.visit).or(named.visit);
    state
        .end_visit(&snapshot, id, visit, LeaveReason::Complete)
        .await?;
    Ok(StatusCode::NO_CONTENT)
}
