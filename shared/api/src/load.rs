//! `POST /queues/{queue}/load`: the protected service reports its load every few seconds. Operators
//! see the last report in the statistics. Vestibule does not act on it yet; the adaptive pace will
//! read it.

use std::sync::Arc;

use axum::{extract::State, http::StatusCode};
use vestibule_domain::load::{LATENCY_MAX_MS, LoadReport, TPS_MAX};

use super::{
    ApiState,
    gateway::Gateway,
    problem::Problem,
    request::{Body, Fields, QueuePath},
};

impl TryFrom<Fields> for LoadReport {
    type Error = Problem;

    fn try_from(mut fields: Fields) -> Result<Self, Problem> {
        let tps = fields.take_number("tps", 0..=TPS_MAX)?;
        let report = Self {
            tps: tps.ok_or_else(|| Problem::invalid_field("tps", "must be given"))?,
            latency_ms: fields.take_number("latency_ms", 0..=LATENCY_MAX_MS)?,
            healthy: fields.take_bool("healthy")?.unwrap_or(true),
        };
        fields.refuse_unknown()?;
        Ok(report)
    }
}

pub(super) async fn handle(
    State(state): State<Arc<ApiState>>,
    QueuePath(queue): QueuePath,
    gateway: Gateway,
    Body(report): Body<LoadReport>,
) -> Result<StatusCode, Problem> {
    state.require_service(&gateway)?;
    match state.line.record_load(&queue, &report).await {
        Ok(()) => Ok(StatusCode::NO_CONTENT),
        Err(error) => Err(state.line_problem(&queue, error).await),
    }
}
