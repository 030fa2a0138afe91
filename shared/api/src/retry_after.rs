//! The header `Retry-After` of a refused request. The rule is that of
//! [`retry_after_seconds`]: here it meets what this process knows of the queue.

use std::sync::Arc;

use axum::{
    extract::{MatchedPath, Request, State},
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    middleware::Next,
    response::Response,
};
use vestibule_domain::poll_pacing::{RefusedQueue, retry_after_seconds};

use super::{ApiState, problem::Problem, request::QueuePath};

/// Adds what is known of the queue to a refusal, for [`insert_retry_after`].
pub(super) async fn add_refused_queue(
    State(state): State<Arc<ApiState>>,
    queue: Result<QueuePath, Problem>,
    request: Request,
    next: Next,
) -> Response {
    let is_of_crowd = is_sent_by_waiting_visitors(&request);
    let mut response = next.run(request).await;
    if response.status() == StatusCode::SERVICE_UNAVAILABLE
        && let Ok(QueuePath(queue)) = queue
        && let Some(known) = state.queue_cache.refused_queue(&queue)
    {
        let waiting = if is_of_crowd { known.waiting } else { 0 };
        response
            .extensions_mut()
            .insert(RefusedQueue { waiting, ..known });
    }
    response
}

/// Whether a crowd of waiting visitors sends such requests: they enter, poll and read the public
/// document.
fn is_sent_by_waiting_visitors(request: &Request) -> bool {
    let route = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
    matches!(
        (request.method(), route),
        (&Method::POST, Some("/queues/{queue}/entries"))
            | (
                &Method::GET,
                Some("/queues/{queue}/entries/{token}" | "/queues/{queue}")
            )
    )
}

/// Inserts the header into the answer to a request that the client may try again. The time is drawn,
/// so that clients which were refused together do not come back together.
pub(super) fn insert_retry_after(headers: &mut HeaderMap, problem: &Problem, queue: Option<&RefusedQueue>) {
    if let Some(min_seconds) = problem.retry_after_min_seconds() {
        let seconds = retry_after_seconds(min_seconds, queue, rand::random());
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
}
