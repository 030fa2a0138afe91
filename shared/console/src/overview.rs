//! The route of the overview: all queues with their lines of the last half hour.

use std::sync::Arc;

use axum::{
    Json,
    extract::State,
    http::header::CACHE_CONTROL,
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};
use vestibule_telemetry::clock::now_ms;

use crate::{Console, sampler::SAMPLE_SECONDS};

/// Answers with what the sampler found last. It asks the admin function nothing, so any number of pages may look.
pub(crate) async fn show_overview(State(console): State<Arc<Console>>) -> Response {
    let body = describe_overview(&console);
    ([(CACHE_CONTROL, "no-store")], Json(body)).into_response()
}

fn describe_overview(console: &Console) -> Value {
    let (now_ms, deployment, findings) = (now_ms(), console.deployment(), console.findings());
    let queues = findings.histories.queues.iter().map(|(queue, history)| {
        json!({ "queue": queue, "row": history.row, "waiting": history.waiting_points(now_ms) })
    });
    let queues: Vec<_> = queues.collect();
    json!({
        "now_ms": now_ms,
        "interval_seconds": SAMPLE_SECONDS,
        "deployment": {
            "kind": deployment.kind,
            "name": deployment.name,
            "region": deployment.region,
            "page": deployment.page_url.is_some(),
            "page_url": deployment.page_url,
            "right": console.admin().right().name(),
        },
        "health": {
            "line_ms": findings.round_trips.line_ms,
            "backup_ms": findings.round_trips.backup_ms,
            "tick_age_ms": findings.histories.tick_age_ms(),
            "problem": findings.problem,
        },
        "sampled_at_ms": findings.sampled_at_ms,
        "queues": queues,
    })
}
