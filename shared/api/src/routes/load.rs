//! `POST /queues/{queue}/load`: the protected service reports its load every few seconds. Operators see the last report in
//! the statistics, and an adaptive pace follows it.

use std::sync::Arc;

use axum::{extract::State, http::StatusCode, response::Response};
use vestibule_domain::load;
use vestibule_wire::{LoadAnswer, LoadReport};

use super::request::{Body, QueuePath};
use crate::{ApiState, entries::view::json, problem::Problem, who::gateway::Gateway};

pub(crate) async fn handle(
    State(state): State<Arc<ApiState>>,
    QueuePath(queue): QueuePath,
    gateway: Gateway,
    Body(request): Body<LoadReport>,
) -> Result<Response, Problem> {
    let LoadReport {
        tps,
        latency_ms,
        healthy,
    } = request;
    if healthy && tps.is_none() {
        return Err(Problem::invalid_field(
            "tps",
            "must be given, unless healthy is false",
        ));
    }
    state.require_service(&gateway)?;
    let report = load::LoadReport {
        tps,
        latency_ms,
        healthy,
    };
    let snapshot = state.snapshot(&queue).await?;
    let settings = snapshot.settings();
    let acts = settings.follows_load();
    // A service that is not healthy stops the promotion, whatever its load is.
    if acts && report.healthy && report.measured(settings.load_measure).is_none() {
        let reason = "must be given, because the pace of the queue follows it (load_measure)";
        return Err(Problem::invalid_field("latency_ms", reason));
    }
    match state.line.record_load(&queue, &report).await {
        Ok(()) => Ok(json(StatusCode::OK, &LoadAnswer { acts })),
        Err(error) => Err(state.line_problem(&queue, error).await),
    }
}
