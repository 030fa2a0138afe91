//! The route of one queue: its numbers now, its settings, its samples and the orders of operators.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Path, State},
    http::header::CACHE_CONTROL,
    response::{IntoResponse, Response},
};
use serde_json::json;
use vestibule_telemetry::clock::now_ms;

use crate::{
    Console,
    answers::{NoResult, ask},
    problem::Problem,
    sampler::SAMPLE_SECONDS,
};

/// How long a queue counts as looked at after the page asked for it, in milliseconds. The next rounds of the sampler ask for
/// its totals even if it is idle.
const WATCHED_MS: u64 = 30_000;

/// Asks the admin function for one queue. Without the table there are no settings, and the orders are those that the console
/// read last; `problem` says why.
pub(crate) async fn show_queue(
    State(console): State<Arc<Console>>,
    Path(queue): Path<String>,
) -> Result<Response, Problem> {
    let command = |op: &str| ask(console.admin(), json!({ "op": op, "queue": queue }));
    let (stats, description, report) = tokio::join!(command("stats"), command("describe"), command("report"));
    let stats = stats?;
    let problem = [&description, &report]
        .into_iter()
        .find_map(|answer| answer.as_ref().err());
    let problem = problem.map(NoResult::reason);
    let mut description = description.unwrap_or_default();
    let [settings, revision, build] =
        ["settings", "revision", "build"].map(|member| description[member].take());
    let now_ms = now_ms();
    let mut findings = console.findings();
    let history = findings.histories.queues.get_mut(&queue);
    let (samples, orders) = match (history, report) {
        (Some(history), report) => {
            history.watched_until_ms = now_ms + WATCHED_MS;
            if let Ok(mut report) = report {
                history.orders = report["orders"].take();
            }
            (history.samples(), history.orders.clone())
        }
        // A queue that the next list will have.
        (None, report) => {
            let orders = report.map(|mut report| report["orders"].take());
            (Vec::new(), orders.unwrap_or_default())
        }
    };
    drop(findings);
    let body = json!({
        "queue": queue,
        "now_ms": now_ms,
        "interval_seconds": SAMPLE_SECONDS,
        "stats": stats,
        "settings": settings,
        "revision": revision,
        "build": build,
        "samples": samples,
        "orders": orders.as_array().cloned().unwrap_or_default(),
        "problem": problem,
    });
    Ok(([(CACHE_CONTROL, "no-store")], Json(body)).into_response())
}
