//! `POST /queues/{queue}/entries/{token}/extend`: gives an active entry more time, at the request of
//! its visitor. The protected service extends by `validate`.

use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use vestibule_wire::ExtendRequest;

use super::request::{Body, EntryPath};
use crate::{
    Services,
    entries::view::{EntryBody, EntryReader},
    problem::Problem,
    who::visitor::RawCredentials,
};

pub(super) async fn handle(
    State(services): State<Services>,
    EntryPath { queue, id }: EntryPath,
    raw_credentials: RawCredentials,
    Body(request): Body<ExtendRequest>,
) -> Result<Response, Problem> {
    let Services {
        identity, entries, ..
    } = &services;
    let snapshot = services.queues.get(&queue).await?;
    identity.require_visitor(&snapshot, raw_credentials, id)?;
    let entry = entries.entry(&snapshot, id);
    let Some(live) = entry.extend(request.visit, request.seconds).await? else {
        // This is a late retry for an earlier visit and must not extend the current one.
        return Ok(StatusCode::NO_CONTENT.into_response());
    };
    EntryBody::build(identity, &snapshot, id, live, EntryReader::Visitor).map(IntoResponse::into_response)
}
