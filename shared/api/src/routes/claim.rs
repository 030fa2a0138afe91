//! `POST /queues/{queue}/entries/{token}/claim`: the visitor confirms to be present, and the ready entry
//! becomes active. The request is idempotent.

use axum::extract::State;
use vestibule_wire::EmptyBody;

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
    _: Body<EmptyBody>,
) -> Result<EntryBody, Problem> {
    let Services {
        identity, entries, ..
    } = &services;
    let snapshot = services.queues.get(&queue).await?;
    identity.require_visitor(&snapshot, raw_credentials, id)?;
    let live = entries.entry(&snapshot, id).claim().await?;
    EntryBody::build(identity, &snapshot, id, live, EntryReader::Visitor)
}
