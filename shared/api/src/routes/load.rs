//! `POST /queues/{queue}/load`: the protected service reports its load every few seconds. Operators see the last report in
//! the statistics, and an adaptive pace follows it.

use axum::{extract::State, http::StatusCode, response::Response};
use vestibule_domain::load;
use vestibule_wire::{LoadAnswer, LoadReport};

use super::request::{Body, QueuePath};
use crate::{Services, json::json, problem::Problem, who::gateway::Gateway};

pub(super) async fn handle(
    State(services): State<Services>,
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
    services.identity.require_service(&gateway)?;
    let report = load::LoadReport {
        tps,
        latency_ms,
        healthy,
    };
    let snapshot = services.queues.get(&queue).await?;
    let settings = snapshot.settings();
    let acts = settings.follows_load();
    // A service that is not healthy stops the promotion, whatever its load is.
    if acts && report.healthy && report.measured(settings.load_measure).is_none() {
        let reason = "must be given, because the pace of the queue follows it (load_measure)";
        return Err(Problem::invalid_field("latency_ms", reason));
    }
    services.entries.record_load(&queue, &report).await?;
    Ok(json(StatusCode::OK, &LoadAnswer { acts }))
}
