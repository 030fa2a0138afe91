//! `POST /queues/{queue}/entries/{token}/complete`: the protected service has finished with a visitor,
//! which frees the slot.

use axum::{extract::State, http::StatusCode};
use vestibule_wire::CompleteRequest;

use super::request::{Body, EntryPath};
use crate::{
    Services,
    problem::Problem,
    who::{gateway::Gateway, named_visitor::NamedVisitor},
};

pub(super) async fn handle(
    State(services): State<Services>,
    EntryPath { queue, id }: EntryPath,
    gateway: Gateway,
    Body(request): Body<CompleteRequest>,
) -> Result<StatusCode, Problem> {
    let Services {
        identity, entries, ..
    } = &services;
    identity.require_service(&gateway)?;
    let named = NamedVisitor::from(request);
    let snapshot = services.queues.get(&queue).await?;
    // A pass names its visit, so it never completes a later one.
    let pass = identity.verify_named_visitor(&snapshot, id, &named).await?;
    let visit = pass.map(|pass| pass.visit).or(named.visit);
    entries.entry(&snapshot, id).complete(visit).await?;
    Ok(StatusCode::NO_CONTENT)
}
