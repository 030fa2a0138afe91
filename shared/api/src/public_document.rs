//! `GET /queues/{queue}`: the public document of a queue, which every client may read.

use std::sync::Arc;

use axum::{
    extract::State,
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use serde::Serialize;
use vestibule_domain::{pace::LimitedBy, settings::Entrance};

use super::{ApiState, entry::json, problem::Problem, request::QueuePath};

#[derive(Serialize)]
struct PublicDocument<'a> {
    queue: &'a str,
    waiting: u64,
    /// Entries served per second; `null` before any were served.
    rate: Option<f64>,
    paused: bool,
    entrance: Entrance,
    /// `clock` while the clocks disagree. The line promotes no entry then.
    #[serde(skip_serializing_if = "Option::is_none")]
    limited_by: Option<LimitedBy>,
    /// Passes of an earlier epoch are void. A service that verifies passes offline reads this.
    min_epoch: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target_url: Option<&'a str>,
}

pub(super) async fn handle(
    State(state): State<Arc<ApiState>>,
    QueuePath(queue): QueuePath,
) -> Result<Response, Problem> {
    let snapshot = state.snapshot(&queue).await?;
    let settings = snapshot.settings();
    let view = PublicDocument {
        queue: queue.as_str(),
        waiting: snapshot.view.waiting,
        // Three decimals are precise enough for a reader.
        rate: snapshot.rate().map(|rate| (rate * 1_000.0).round() / 1_000.0),
        paused: settings.paused,
        entrance: settings.entrance,
        limited_by: snapshot.view.clocks.apart.then_some(LimitedBy::Clock),
        min_epoch: snapshot.view.configuration.min_epoch,
        message: settings.message.as_deref(),
        target_url: settings.target_url.as_deref(),
    };
    let mut response = json(StatusCode::OK, &view);
    response.headers_mut().insert(
        header::CACHE_CONTROL,
        HeaderValue::from_static("public, max-age=2"),
    );
    Ok(response)
}
