//! The route of one queue: its numbers now, its settings, its samples and the orders of operators.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Path, State},
    http::header::CACHE_CONTROL,
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};
use vestibule_clock::now_ms;

use crate::{
    Console,
    answers::{NoResult, ask},
    history::QueueHistory,
    problem::Problem,
    sampler::SAMPLE_SECONDS,
};

/// Asks the admin function for one queue. Parts that it does not have at the moment are `null`, and `problem` says why.
pub(crate) async fn show_queue(
    State(console): State<Arc<Console>>,
    Path(queue): Path<String>,
) -> Result<Response, Problem> {
    let command = |op: &str| ask(console.admin(), json!({ "op": op, "queue": queue }));
    let (stats, description, report) = tokio::join!(command("stats"), command("describe"), command("report"));
    let unknown = [&stats, &description].into_iter().find_map(|answer| {
        let none = answer.as_ref().err()?;
        none.is_unknown_queue().then(|| none.clone())
    });
    if let Some(none) = unknown {
        return Err(none.into());
    }
    if let (Err(none), Err(_), Err(_)) = (&stats, &description, &report) {
        return Err(none.clone().into());
    }
    let problem = [&stats, &description, &report]
        .into_iter()
        .find_map(|answer| answer.as_ref().err());
    let problem = problem.map(NoResult::reason);
    let member = |answer: Option<Value>, name: &str| answer.map(|mut answer| answer[name].take());
    let now_ms = now_ms();
    console.watch(&queue, now_ms);
    let findings = console.findings();
    let history = findings.histories.queues.get(&queue);
    let body = json!({
        "queue": queue,
        "now_ms": now_ms,
        "interval_seconds": SAMPLE_SECONDS,
        "stats": stats.ok(),
        "settings": member(description.ok(), "settings"),
        "samples": history.map(QueueHistory::samples).unwrap_or_default(),
        "orders": member(report.ok(), "orders"),
        "problem": problem,
    });
    Ok(([(CACHE_CONTROL, "no-store")], Json(body)).into_response())
}
