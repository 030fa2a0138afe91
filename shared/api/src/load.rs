//! `POST /queues/{queue}/load`: the protected service reports its load every few seconds. Operators see the
//! last report in the statistics. Vestibule does not act on it yet; the adaptive pace will read it.

use std::sync::Arc;

use axum::{extract::State, http::StatusCode};
use vestibule_domain::load::{LATENCY_MS_MAX, LoadReport, TPS_MAX};

use super::{
    Edge,
    gateway::Gateway,
    problem::Problem,
    request::{AtQueue, Body, Fields},
};

impl TryFrom<Fields> for LoadReport {
    type Error = Problem;

    fn try_from(mut fields: Fields) -> Result<Self, Problem> {
        let tps = fields.number("tps", 0..=TPS_MAX)?;
        let report = Self {
            tps: tps.ok_or_else(|| Problem::field("tps", "must be given"))?,
            latency_ms: fields.number("latency_ms", 0..=LATENCY_MS_MAX)?,
            healthy: fields.flag("healthy")?.unwrap_or(true),
        };
        fields.finish()?;
        Ok(report)
    }
}

pub(super) async fn handle(
    State(edge): State<Arc<Edge>>,
    AtQueue(queue): AtQueue,
    gateway: Gateway,
    Body(report): Body<LoadReport>,
) -> Result<StatusCode, Problem> {
    edge.service_only(&gateway)?;
    match edge.line.keep_load(&queue, &report).await {
        Ok(()) => Ok(StatusCode::NO_CONTENT),
        Err(error) => Err(edge.line_failed(&queue, error).await),
    }
}
