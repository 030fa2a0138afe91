//! `GET /queues/{queue}`: the public document of a queue, which every client may read.

use axum::{
    extract::State,
    http::{HeaderValue, StatusCode, header},
    response::Response,
};

use super::request::QueuePath;
use crate::{Services, json::json, problem::Problem};

pub(super) async fn handle(
    State(services): State<Services>,
    QueuePath(queue): QueuePath,
) -> Result<Response, Problem> {
    let snapshot = services.queues.get(&queue).await?;
    // Caches and services read the document of an empty queue too. Such a queue is parked, and needs no tick.
    if snapshot.view.is_occupied() {
        services.entries.with_fallback_tick(&queue, async {}).await;
    }
    let document = snapshot.describe_queue(services.identity.passes.void_key_ids());
    let mut response = json(StatusCode::OK, &document);
    response.headers_mut().insert(
        header::CACHE_CONTROL,
        HeaderValue::from_static("public, max-age=2, stale-while-revalidate=8"),
    );
    Ok(response)
}
