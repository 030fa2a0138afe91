//! `POST /queues/{queue}/entries/{token}/validate`: tells the protected service whether a visitor may act.
//! The service names the visitor or presents the visitor's pass.

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
    visit: u16,
    expires_at_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    durable: Option<bool>,
    /// Whether the answer was given without the line; left out otherwise.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    degraded: bool,
}

impl ValidateResponse {
    /// `expires_at_ms` is the time until which the pass is accepted, because only the line knows the end of
    /// the session.
    fn from_accepted_pass(honoured: &AcceptedPass) -> Self {
        Self {
            valid: true,
            state: EntryState::Active,
            visit: honoured.visit.number(),
            expires_at_ms: honoured.accepted_until_ms,
            durable: None,
            degraded: true,
        }
    }
}

pub(super) async fn handle(
    State(edge): State<Arc<ApiState>>,
    EntryPath { queue, id }: EntryPath,
    gateway: Gateway,
    Body(question): Body<ValidateRequest>,
) -> Result<Response, Problem> {
    edge.require_service(&gateway)?;
    let honour = async |away| {
        let honoured = edge.accept_pass(&away, id, &question).await?;
        Ok(json(
            StatusCode::OK,
            &ValidateResponse::from_accepted_pass(&honoured),
        ))
    };
    let mut snapshot = match edge.queue_source(&queue).await? {
        QueueSource::Line(snapshot) => snapshot,
        QueueSource::Backup(away) => return honour(away).await,
    };
    let mut answer = edge.validate_in_line(&snapshot, id, &question).await;
    if matches!(answer, Ok(ValidateOutcome::NotActive(_))) && question.pass.is_some() {
        // The pass proves that the entry was let in, so the line was restored after the snapshot was taken.
        // The request is tried again with a new snapshot.
        edge.queue_cache.invalidate(&queue);
        snapshot = edge.snapshot(&queue).await?;
        answer = edge.validate_in_line(&snapshot, id, &question).await;
    }
    let validated = match answer {
        Ok(validated) => validated,
        Err(QueryError::LineUnavailable(cause)) => {
            return honour(DegradedContext::from_snapshot(&snapshot, cause)).await;
        }
        Err(QueryError::Problem(problem)) => return Err(problem),
    };
    let (standing, change) = match validated {
        ValidateOutcome::Active {
            status: standing,
            change,
        } => (standing, change),
        ValidateOutcome::NotActive(standing) => return Err(Problem::not_your_turn(&standing)),
        ValidateOutcome::OtherVisit if question.pass.is_some() => {
            return Err(other_visit_problem());
        }
        ValidateOutcome::OtherVisit => return Err(Problem::other_visit()),
        ValidateOutcome::NotFound(missing) => {
            return Err(edge.missing_entry_problem(&snapshot, id, missing).await);
        }
    };
    let EntryStatus::Active {
        visit,
        session_end_ms,
        ..
    } = standing
    else {
        return Err(Problem::internal(
            "the line returned an entry as active that has another state",
        ));
    };
    let durable = match change {
        Some(change) => {
            let through = edge.write_change(&snapshot, &change).await?;
            edge.reject_superseded(&snapshot, &standing, &change, &through)
                .await?;
            Some(through.durable)
        }
        None => None,
    };
    let answer = ValidateResponse {
        valid: true,
        state: standing.state(),
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
        question: &ValidateRequest,
    ) -> Result<ValidateOutcome, QueryError> {
        let check = self.build_validation(snapshot, id, question)?;
        self.query_line(snapshot, id, || self.line.validate(&snapshot.queue, id, check))
            .await
    }

    /// Verifies the visitor and the pass that the request presents, and builds the validation that the line
    /// runs.
    fn build_validation(
        &self,
        snapshot: &QueueSnapshot,
        id: EntryId,
        question: &ValidateRequest,
    ) -> Result<Validation, Problem> {
        if let Some(visitor) = &question.visitor
            && !is_owner(&snapshot.ids, id, visitor)?
        {
            return Err(token_mismatch_problem());
        }
        let (mut visit, mut let_in_until_ms) = (question.visit, None);
        if let Some(pass) = &question.pass {
            let claims = self
                .keys
                .signer
                .verify(pass, &snapshot.queue, id, snapshot.now_ms())?;
            let configuration = &snapshot.view.configuration;
            if claims.epoch < configuration.min_epoch {
                return Err(earlier_epoch_problem());
            }
            let_in_until_ms = (claims.epoch < configuration.epoch).then_some(claims.exp * 1_000);
            let of_pass = Visit::new(u64::from(claims.visit));
            if visit.is_some() && visit != of_pass {
                return Err(other_visit_problem());
            }
            visit = of_pass;
        }
        Ok(Validation {
            visit,
            // The line knows only the token. It may claim the entry only for a named visitor; otherwise any
            // caller that found a token would be let in.
            claims: question.visitor.is_some(),
            consumes: question.consume,
            reactivate_until_ms: let_in_until_ms,
        })
    }
}
