//! `POST /queues/{queue}/load`: the protected service reports its load every few seconds. Operators see the last report in
//! the statistics, and an adaptive pace follows it.

use std::sync::Arc;

use axum::{extract::State, http::StatusCode, response::Response};
use serde::Serialize;
use vestibule_domain::load::{LATENCY_MAX_MS, LoadReport, TPS_MAX};

use super::{
    ApiState,
    entry::json,
    gateway::Gateway,
    problem::Problem,
    request::{Body, Fields, QueuePath},
};

/// What a report did.
#[derive(Serialize)]
struct LoadAnswer {
    /// Whether the report moves the pace. Otherwise only the statistics show it.
    acts: bool,
}

impl TryFrom<Fields> for LoadReport {
    type Error = Problem;

    fn try_from(mut fields: Fields) -> Result<Self, Problem> {
        let report = Self {
            tps: fields.take_number("tps", 0..=TPS_MAX)?,
            latency_ms: fields.take_number("latency_ms", 0..=LATENCY_MAX_MS)?,
            healthy: fields.take_bool("healthy")?.unwrap_or(true),
        };
        if report.healthy && report.tps.is_none() {
            return Err(Problem::invalid_field(
                "tps",
                "must be given, unless healthy is false",
            ));
        }
        fields.refuse_unknown()?;
        Ok(report)
    }
}

pub(super) async fn handle(
    State(state): State<Arc<ApiState>>,
    QueuePath(queue): QueuePath,
    gateway: Gateway,
    Body(report): Body<LoadReport>,
) -> Result<Response, Problem> {
    state.require_service(&gateway)?;
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
