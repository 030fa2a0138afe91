//! `POST /queues/{queue}/entries/{token}/validate`: tells the protected service whether a visitor
//! may act. The service names the visitor or presents the visitor's pass.

use std::sync::Arc;

use axum::{extract::State, http::StatusCode, response::Response};
use serde::Serialize;
use vestibule_domain::{entry_status::EntryStatus, id::EntryId, score::Visit, state::EntryState};
use vestibule_line::{ValidateOutcome, Validation};

use super::{
    ApiState,
    degraded::{AcceptedPass, DegradedContext, QueueSource},
    entry::json,
    gateway::Gateway,
    missing_entry::QueryError,
    problem::Problem,
    queue_cache::QueueSnapshot,
    request::{Body, EntryPath},
    validate_request::{ValidateRequest, earlier_epoch_problem, other_visit_problem},
    visitor::{is_owner, token_mismatch_problem},
};

#[derive(Serialize)]
struct ValidateResponse {
    valid: bool,
    state: EntryState,
    visit: u64,
    expires_at_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    durable: Option<bool>,
    /// Whether the answer was given without the line; left out otherwise.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    degraded: bool,
}

impl ValidateResponse {
    /// `expires_at_ms` is the time until which the pass is accepted, because only the line knows
    /// the end of the session.
    fn from_accepted_pass(accepted: &AcceptedPass) -> Self {
        Self {
            valid: true,
            state: EntryState::Active,
            visit: accepted.visit.number(),
            expires_at_ms: accepted.accepted_until_ms,
            durable: None,
            degraded: true,
        }
    }
}

pub(super) async fn handle(
    State(state): State<Arc<ApiState>>,
    EntryPath { queue, id }: EntryPath,
    gateway: Gateway,
    Body(request): Body<ValidateRequest>,
) -> Result<Response, Problem> {
    state.require_service(&gateway)?;
    let accept_without_line = async |context| {
        let accepted = state.accept_pass(&context, id, &request).await?;
        Ok(json(
            StatusCode::OK,
            &ValidateResponse::from_accepted_pass(&accepted),
        ))
    };
    let mut snapshot = match state.queue_source(&queue).await? {
        QueueSource::Line(snapshot) => snapshot,
        QueueSource::Backup(context) => return accept_without_line(context).await,
    };
    let mut answer = state.validate_in_line(&snapshot, id, &request).await;
    if matches!(answer, Ok(ValidateOutcome::NotActive(_))) && request.pass.is_some() {
        // The pass proves that the entry was let in, so the line was restored after the snapshot
        // was taken. The request is tried again with a new snapshot.
        state.queue_cache.invalidate(&queue);
        snapshot = state.snapshot(&queue).await?;
        answer = state.validate_in_line(&snapshot, id, &request).await;
    }
    let validated = match answer {
        Ok(validated) => validated,
        Err(QueryError::LineUnavailable(cause)) => {
            return accept_without_line(DegradedContext::from_snapshot(&snapshot, cause)).await;
        }
        Err(QueryError::Problem(problem)) => return Err(problem),
    };
    let (status, change) = match validated {
        ValidateOutcome::Active { status, change } => (status, change),
        ValidateOutcome::NotActive(status) => return Err(Problem::not_your_turn(&status)),
        ValidateOutcome::OtherVisit if request.pass.is_some() => {
            return Err(other_visit_problem());
        }
        ValidateOutcome::OtherVisit => return Err(Problem::other_visit()),
        ValidateOutcome::NotFound(missing) => {
            return Err(state.missing_entry_problem(&snapshot, id, missing).await);
        }
    };
    let EntryStatus::Active {
        visit,
        session_end_ms,
        ..
    } = status
    else {
        return Err(Problem::internal(
            "the line returned an entry as active that has another state",
        ));
    };
    let durable = match change {
        Some(change) => {
            let write = state.write_change(&snapshot, &change).await?;
            ApiState::reject_superseded(&change, &write)?;
            Some(write.durable)
        }
        None => None,
    };
    let answer = ValidateResponse {
        valid: true,
        state: status.state(),
        visit: visit.number(),
        expires_at_ms: session_end_ms,
        durable,
        degraded: false,
    };
    Ok(json(StatusCode::OK, &answer))
}

impl ApiState {
    async fn validate_in_line(
        &self,
        snapshot: &QueueSnapshot,
        id: EntryId,
        request: &ValidateRequest,
    ) -> Result<ValidateOutcome, QueryError> {
        let check = self.build_validation(snapshot, id, request)?;
        self.query_line(snapshot, id, || self.line.validate(&snapshot.queue, id, check))
            .await
    }

    /// Verifies the visitor and the pass that the request presents, and builds the validation that
    /// the line runs.
    fn build_validation(
        &self,
        snapshot: &QueueSnapshot,
        id: EntryId,
        request: &ValidateRequest,
    ) -> Result<Validation, Problem> {
        if let Some(visitor) = &request.visitor
            && !is_owner(&snapshot.ids, id, visitor)?
        {
            return Err(token_mismatch_problem());
        }
        let (mut visit, mut let_in_until_ms) = (request.visit, None);
        if let Some(pass) = &request.pass {
            let claims = self
                .keys
                .signer
                .verify(pass, &snapshot.queue, id, snapshot.now_ms())?;
            let configuration = &snapshot.view.configuration;
            if claims.epoch < configuration.min_epoch {
                return Err(earlier_epoch_problem());
            }
            let_in_until_ms = (claims.epoch < configuration.epoch).then_some(claims.exp * 1_000);
            let visit_of_pass = Visit::new(claims.visit);
            if visit.is_some() && visit != visit_of_pass {
                return Err(other_visit_problem());
            }
            visit = visit_of_pass;
        }
        Ok(Validation {
            visit,
            // The line knows only the token. It may claim the entry only for a named visitor;
            // otherwise any caller that found a token would be let in.
            claims: request.visitor.is_some(),
            consumes: request.consume,
            reactivate_until_ms: let_in_until_ms,
        })
    }
}
