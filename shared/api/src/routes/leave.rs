//! `DELETE /queues/{queue}/entries/{token}`: ends the visit. The entry becomes left. The slot of an
//! active one is held while a pass can still be shown. With `closed=true` the visitor only closes the page.

use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use vestibule_domain::closing::LEAVE_AFTER_CLOSE_MS;
use vestibule_wire::Closing;

use super::request::{EntryPath, QueryParams};
use crate::{Services, json::json, problem::Problem, who::visitor::RawCredentials};

pub(super) async fn handle(
    State(services): State<Services>,
    EntryPath { queue, id }: EntryPath,
    raw_credentials: RawCredentials,
    queries: QueryParams,
) -> Result<Response, Problem> {
    let (visit, is_closed) = (queries.visit()?, queries.is_closed()?);
    let snapshot = services.queues.get(&queue).await?;
    services
        .identity
        .require_visitor(&snapshot, raw_credentials, id)?;
    let entry = services.entries.entry(&snapshot, id);
    if !is_closed {
        entry.leave(visit).await?;
    } else if entry.mark_closing(visit).await? {
        let leaves_in_ms = LEAVE_AFTER_CLOSE_MS;
        return Ok(json(StatusCode::ACCEPTED, &Closing { leaves_in_ms }));
    }
    // The browser does not read the answer to a closing, so an entry that does not wait is no failure.
    Ok(StatusCode::NO_CONTENT.into_response())
}
