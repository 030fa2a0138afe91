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
    validate_pass::{ValidationAnswer, VerifiedPass},
    validate_request::{ValidateRequest, earlier_epoch_problem, other_visit_problem},
    visitor::{is_owner, token_mismatch_problem},
};
use crate::pass::PassError;

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
    let snapshot = match state.queue_source(&queue).await? {
        QueueSource::Line(snapshot) => snapshot,
        QueueSource::Backup(context) => return accept_without_line(context).await,
    };
    let (status, durable) = match state.validate_in_line(&snapshot, id, &request).await {
        Ok(validated) => {
            state
                .confirm_validation(&snapshot, id, &request, validated)
                .await?
        }
        Err(QueryError::LineUnavailable(cause)) => {
            return accept_without_line(DegradedContext::from_snapshot(&snapshot, cause)).await;
        }
        Err(QueryError::Problem(problem)) => return Err(problem),
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
    ) -> Result<ValidationAnswer, QueryError> {
        match self.build_validation(snapshot, id, request)? {
            (validation, None) => self.query_validation(snapshot, id, validation).await,
            (validation, Some(pass)) if pass.has_expired => {
                let problem = PassError::Expired.into();
                self.repeat_use(snapshot, id, validation, problem).await
            }
            (validation, Some(pass)) => self.validate_with_pass(snapshot, id, validation, pass).await,
        }
    }

    /// Returns the status of the entry that may act, and whether the change that let it in or
    /// consumed it is durable. Writes that change.
    async fn confirm_validation(
        &self,
        snapshot: &QueueSnapshot,
        id: EntryId,
        request: &ValidateRequest,
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
            ValidateOutcome::OtherVisit if request.pass.is_some() => Err(other_visit_problem()),
            ValidateOutcome::OtherVisit => Err(Problem::other_visit()),
            ValidateOutcome::NotFound(missing) => {
                Err(self.missing_entry_problem(snapshot, id, missing).await)
            }
        }
    }

    /// Verifies the visitor and the pass that the request presents, and builds the validation that
    /// the line runs.
    fn build_validation(
        &self,
        snapshot: &QueueSnapshot,
        id: EntryId,
        request: &ValidateRequest,
    ) -> Result<(Validation, Option<VerifiedPass>), Problem> {
        if let Some(visitor) = &request.visitor
            && !is_owner(&snapshot.ids, id, visitor)?
        {
            return Err(token_mismatch_problem());
        }
        let mut verified = None;
        if let Some(pass) = &request.pass {
            let signer = &self.keys.signer;
            let verified_now = signer.verify(pass, &snapshot.queue, id, snapshot.now_ms());
            let (claims, has_expired) = match verified_now {
                // The request may repeat one that consumed the visit while the pass was valid.
                Err(PassError::Expired) if request.use_id.is_some() => {
                    (signer.verify_ignoring_time(pass, &snapshot.queue, id)?, true)
                }
                claims => (claims?, false),
            };
            if claims.epoch < snapshot.view.configuration.min_epoch {
                return Err(earlier_epoch_problem());
            }
            let visit = Visit::new(claims.visit).ok_or(PassError::Malformed)?;
            if request.visit.is_some_and(|named| named != visit) {
                return Err(other_visit_problem());
            }
            verified = Some(VerifiedPass {
                visit,
                end_ms: claims.exp * 1_000,
                has_expired,
            });
        }
        let validation = Validation {
            visit: verified.map(|pass| pass.visit).or(request.visit),
            // The line knows only the token. It may claim the entry only for a named visitor;
            // otherwise any caller that found a token would be let in.
            claims: request.visitor.is_some(),
            consumes: request.consume,
            use_id: request.use_id,
            reactivate_until_ms: None,
        };
        Ok((validation, verified))
    }
}
