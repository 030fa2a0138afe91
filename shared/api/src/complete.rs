//! `POST /queues/{queue}/entries/{token}/complete`: the protected service has finished with a visitor,
//! which frees the slot.

use std::sync::Arc;

use axum::{extract::State, http::StatusCode};
use vestibule_domain::score::Visit;
use vestibule_line::Departure;

use super::{
    Edge,
    gateway::Gateway,
    problem::Problem,
    request::{AtEntry, Body, Fields},
};

pub(super) struct Completion {
    visit: Option<Visit>,
}

impl TryFrom<Fields> for Completion {
    type Error = Problem;

    fn try_from(mut fields: Fields) -> Result<Self, Problem> {
        let visit = fields.visit()?;
        fields.finish()?;
        Ok(Self { visit })
    }
}

pub(super) async fn handle(
    State(edge): State<Arc<Edge>>,
    AtEntry { queue, id }: AtEntry,
    gateway: Gateway,
    Body(completion): Body<Completion>,
) -> Result<StatusCode, Problem> {
    edge.service_only(&gateway)?;
    let seen = edge.seen(&queue).await?;
    edge.depart(&seen, id, completion.visit, Departure::Complete)
        .await?;
    Ok(StatusCode::NO_CONTENT)
}
