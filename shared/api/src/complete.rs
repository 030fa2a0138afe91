//! `POST /queues/{queue}/entries/{token}/complete`: the protected service has finished with a visitor,
//! which frees the slot.

use std::sync::Arc;

use axum::{extract::State, http::StatusCode};
use vestibule_domain::score::Visit;
use vestibule_line::LeaveReason;

use super::{
    ApiState,
    gateway::Gateway,
    problem::Problem,
    request::{Body, EntryPath, Fields},
};

pub(super) struct CompleteRequest {
    visit: Option<Visit>,
}

impl TryFrom<Fields> for CompleteRequest {
    type Error = Problem;

    fn try_from(mut fields: Fields) -> Result<Self, Problem> {
        let visit = fields.take_visit()?;
        fields.refuse_unknown()?;
        Ok(Self { visit })
    }
}

pub(super) async fn handle(
    State(state): State<Arc<ApiState>>,
    EntryPath { queue, id }: EntryPath,
    gateway: Gateway,
    Body(completion): Body<CompleteRequest>,
) -> Result<StatusCode, Problem> {
    state.require_service(&gateway)?;
    let snapshot = state.snapshot(&queue).await?;
    state
        .end_visit(&snapshot, id, completion.visit, LeaveReason::Complete)
        .await?;
    Ok(StatusCode::NO_CONTENT)
}
