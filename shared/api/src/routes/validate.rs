//! `POST /queues/{queue}/entries/{token}/validate`: tells the protected service whether a visitor
//! may act. The service names the visitor or presents the visitor's pass.

use axum::{extract::State, http::StatusCode, response::Response};
use vestibule_domain::{id::EntryId, state::EntryState};
use vestibule_wire::ValidateResponse;

use super::request::{Body, EntryPath};
use crate::{
    Services,
    degraded::{AcceptedPass, QueueSource},
    entries::QueryError,
    json::json,
    problem::Problem,
    queue::QueueSnapshot,
    who::{gateway::Gateway, named_visitor::ValidateRequest},
};

pub(super) async fn handle(
    State(services): State<Services>,
    EntryPath { queue, id }: EntryPath,
    gateway: Gateway,
    Body(request): Body<vestibule_wire::ValidateRequest>,
) -> Result<Response, Problem> {
    let request = ValidateRequest::try_from(request)?;
    let Services {
        identity, entries, ..
    } = &services;
    identity.require_service(&gateway)?;
    let source = QueueSource::read(&services.queues, &queue).await?;
    let answer = source.answer(
        async |snapshot| validate(&services, &snapshot, id, &request).await,
        async |context| {
            let accepted = context.accept_pass(entries, &identity.passes, id, &request);
            Ok(answer_for_pass(&accepted.await?))
        },
    );
    Ok(json(StatusCode::OK, &answer.await?))
}

async fn validate(
    Services {
        identity, entries, ..
    }: &Services,
    snapshot: &QueueSnapshot,
    id: EntryId,
    request: &ValidateRequest,
) -> Result<ValidateResponse, QueryError> {
    let verified = identity
        .verify_named_visitor(snapshot, id, &request.named)
        .await?;
    let entry = entries.entry(snapshot, id);
    let live = entry.validate(request, verified).await?;
    let visit = live.status.visit();
    let mut answer = ValidateResponse {
        valid: true,
        state: live.status.state(),
        visit: visit.number(),
        expires_at_ms: live.session_end_ms()?,
        durable: live.durable,
        pass: None,
        degraded: false,
    };
    if request.extend {
        let extended = entry.extend(Some(visit), request.extend_seconds).await?;
        let extended = extended.ok_or_else(Problem::other_visit)?;
        answer.expires_at_ms = extended.session_end_ms()?;
        answer.durable = extended.durable;
        answer.pass = identity.sign_pass(snapshot, id, extended.status)?;
    }
    Ok(answer)
}

/// `expires_at_ms` is the time until which the pass is accepted, because only the line knows
/// the end of the session.
fn answer_for_pass(accepted: &AcceptedPass) -> ValidateResponse {
    ValidateResponse {
        valid: true,
        state: EntryState::Active,
        visit: accepted.visit.number(),
        expires_at_ms: accepted.accepted_until_ms,
        durable: None,
        pass: None,
        degraded: true,
    }
}
