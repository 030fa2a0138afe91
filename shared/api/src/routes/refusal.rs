//! The header `Retry-After` of a refused request. The rule is that of
//! [`retry_after_seconds`]: here it meets what this process knows of the queue.

use axum::{
    extract::{MatchedPath, Request},
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    response::Response,
};
use vestibule_domain::{
    id::QueueId,
    poll_pacing::{RefusedQueue, retry_after_seconds},
};

use crate::{ApiState, problem::Problem};

/// Adds what is known of the queue to a refusal, for [`insert_retry_after`]. `is_of_crowd`: see
/// [`is_sent_by_waiting_visitors`].
pub(crate) fn add_refused_queue(
    state: &ApiState,
    queue: Option<&QueueId>,
    is_of_crowd: bool,
    response: &mut Response,
) {
    if response.status() == StatusCode::SERVICE_UNAVAILABLE
        && let Some(known) = queue.and_then(|queue| state.queue_cache.refused_queue(queue))
    {
        let waiting = if is_of_crowd { known.waiting } else { 0 };
        response
            .extensions_mut()
            .insert(RefusedQueue { waiting, ..known });
    }
}

/// Whether a crowd of waiting visitors sends such requests: they enter, poll and read the public
/// document.
pub(crate) fn is_sent_by_waiting_visitors(request: &Request) -> bool {
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
pub(crate) fn insert_retry_after(headers: &mut HeaderMap, problem: &Problem, queue: Option<&RefusedQueue>) {
    if let Some(min_seconds) = problem.retry_after_min_seconds() {
        let seconds = retry_after_seconds(min_seconds, queue, rand::random());
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
}
