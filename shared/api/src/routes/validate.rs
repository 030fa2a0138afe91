//! `POST /queues/{queue}/entries/{token}/validate`: tells the protected service whether a visitor
//! may act. The service names the visitor or presents the visitor's pass.

use std::sync::Arc;

use axum::{extract::State, http::StatusCode, response::Response};
use vestibule_domain::{entry_status::EntryStatus, id::EntryId, state::EntryState};
use vestibule_line::{ValidateOutcome, Validation};
use vestibule_wire::ValidateResponse;

use super::request::{Body, EntryPath};
use crate::{
    ApiState,
    degraded::{AcceptedPass, DegradedContext, QueueSource},
    entries::{
        consume::find_use,
        missing::QueryError,
        validate::{ValidationAnswer, VerifiedPass},
        view::json,
    },
    problem::Problem,
    queue::QueueSnapshot,
    who::{gateway::Gateway, named_visitor::ValidateRequest},
};

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

pub(crate) async fn handle(
    State(state): State<Arc<ApiState>>,
    EntryPath { queue, id }: EntryPath,
    gateway: Gateway,
    Body(request): Body<vestibule_wire::ValidateRequest>,
) -> Result<Response, Problem> {
    let request = ValidateRequest::try_from(request)?;
    state.require_service(&gateway)?;
    let accept_without_line = async |context| {
        let accepted = state.accept_pass(&context, id, &request).await?;
        Ok(json(StatusCode::OK, &answer_for_pass(&accepted)))
    };
    let snapshot = match state.queue_source(&queue).await? {
        QueueSource::Line(snapshot) => snapshot,
        QueueSource::Backup(context) => return accept_without_line(context).await,
    };
    let (status, durable) = match state.validate_in_line(&snapshot, id, &request).await {
        Ok(validated) => state.confirm_validation(&snapshot, id, validated).await?,
        Err(QueryError::LineUnavailable(cause)) => {
            return accept_without_line(DegradedContext::from_snapshot(&snapshot, cause)).await;
        }
        Err(QueryError::Problem(problem)) => return Err(problem),
    };
    let mut answer = ValidateResponse {
        valid: true,
        state: status.state(),
        visit: status.visit().number(),
        expires_at_ms: session_end_ms(&status)?,
        durable,
        pass: None,
        degraded: false,
    };
    if request.extend {
        let extended = state.extend_session(&snapshot, id, Some(status.visit()), request.extend_seconds);
        let (status, write) = extended.await?.ok_or_else(Problem::other_visit)?;
        answer.expires_at_ms = session_end_ms(&status)?;
        answer.durable = Some(write.durable);
        answer.pass = state.sign_pass(&snapshot, id, status)?;
    }
    Ok(json(StatusCode::OK, &answer))
}

/// When the session of an active entry ends, in Unix milliseconds.
pub(crate) fn session_end_ms(status: &EntryStatus) -> Result<u64, Problem> {
    match status {
        EntryStatus::Active { session_end_ms, .. } => Ok(*session_end_ms),
        _ => Err(Problem::internal(
            "the line returned an entry as active that has another state",
        )),
    }
}

impl ApiState {
    async fn validate_in_line(
        &self,
        snapshot: &QueueSnapshot,
        id: EntryId,
        request: &ValidateRequest,
    ) -> Result<ValidationAnswer, QueryError> {
        let verified = self.verify_named_visitor(snapshot, id, &request.named).await?;
        self.validate_verified(snapshot, id, request, verified).await
    }

    /// Asks the line whether a visitor may act whose visitor id and pass are verified.
    pub(crate) async fn validate_verified(
        &self,
        snapshot: &QueueSnapshot,
        id: EntryId,
        request: &ValidateRequest,
        verified: Option<VerifiedPass>,
    ) -> Result<ValidationAnswer, QueryError> {
        let repeatable_use = request.use_id.filter(|_| request.consume);
        let needs_record = verified.is_some() || repeatable_use.is_some();
        let stored = if needs_record {
            Some(self.read_entry_record(snapshot, id).await)
        } else {
            None
        };
        let validation = Validation {
            visit: verified.map(|pass| pass.visit).or(request.named.visit),
            claims: request.claims,
            consumes: request.consume,
            use_id: request.use_id,
            reactivate_until_ms: None,
        };
        if let Some(Ok(Some(record))) = &stored
            && let Some(repeated) = find_use(snapshot, validation, record)
        {
            return Ok(repeated);
        }
        match (verified, stored) {
            (Some(pass), Some(stored)) => {
                self.validate_with_pass(snapshot, id, validation, pass, stored)
                    .await
            }
            _ => self.query_validation(snapshot, id, validation).await,
        }
    }

    /// Returns the status of the entry that may act, and whether the change that let it in or
    /// consumed it is durable. Writes that change.
    pub(crate) async fn confirm_validation(
        &self,
        snapshot: &QueueSnapshot,
        id: EntryId,
        validation: ValidationAnswer,
    ) -> Result<(EntryStatus, Option<bool>), Problem> {
        let outcome = match validation {
            ValidationAnswer::Line(outcome) => outcome,
            ValidationAnswer::Confirmed { status, durable } => return Ok((status, Some(durable))),
        };
        match outcome {
            ValidateOutcome::Active { status, change: None } => Ok((status, None)),
            ValidateOutcome::Active {
                status,
                change: Some(change),
            } => {
                let write = self.write_change(snapshot, &change).await?;
                Self::reject_superseded(&change, &write)?;
                Ok((status, Some(write.durable)))
            }
            ValidateOutcome::NotActive(status) => Err(Problem::not_your_turn(&status)),
            ValidateOutcome::OtherVisit => Err(Problem::other_visit()),
            ValidateOutcome::NotFound(missing) => {
                Err(self.missing_entry_problem(snapshot, id, missing).await)
            }
        }
    }
}
