//! `GET /queues/{queue}`: how a queue stands, for everybody to see.

use std::sync::Arc;

use axum::{
    extract::State,
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use serde::Serialize;
use vestibule_domain::{pace::HeldBackBy, settings::Entrance};

use super::{Edge, entry::json, problem::Problem, request::AtQueue};

#[derive(Serialize)]
struct PublicView<'a> {
    queue: &'a str,
    waiting: u64,
    /// Entries served a second; `null` before any were seen.
    rate: Option<f64>,
    paused: bool,
    entrance: Entrance,
    /// `clock` while it is not certain what time it is: nobody is promoted then.
    #[serde(skip_serializing_if = "Option::is_none")]
    held_back_by: Option<HeldBackBy>,
    /// The lowest epoch of which passes count: for whoever checks them offline.
    min_epoch: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target_url: Option<&'a str>,
}

pub(super) async fn handle(
    State(edge): State<Arc<Edge>>,
    AtQueue(queue): AtQueue,
) -> Result<Response, Problem> {
    let seen = edge.seen(&queue).await?;
    let settings = seen.settings();
    let view = PublicView {
        queue: queue.as_str(),
        waiting: seen.view.waiting,
        // Nobody reads more than three digits.
        rate: seen.rate().map(|rate| (rate * 1_000.0).round() / 1_000.0),
        paused: settings.paused,
        entrance: settings.entrance,
        held_back_by: seen.view.clocks.apart.then_some(HeldBackBy::Clock),
        min_epoch: seen.view.configuration.min_epoch,
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
