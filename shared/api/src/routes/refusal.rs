//! What a refused request is told beyond its problem: why the queue is over, and in the header `Retry-After` when to try
//! again. The rule is that of [`Problem::retry_after_seconds`]: here it meets what this process knows of the queue.

use std::sync::Arc;

use axum::{
    extract::{MatchedPath, Request},
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    response::Response,
};
use vestibule_domain::{id::QueueId, poll_pacing::RefusedQueue, queue_state::QueueState};

use crate::{
    problem::{Code, Problem},
    queue::QueueCache,
};

/// Says why the queue is over by settings that say so. The line may have ended a wait by them before this process has
/// read them, and a client does not ask again.
pub(super) async fn explain_end(queues: &QueueCache, queue: Option<&QueueId>, response: &mut Response) {
    let is_over = |response: &Response| {
        let problem = response.extensions().get::<Arc<Problem>>();
        problem.is_some_and(|problem| problem.code() == Code::QueueFinished)
    };
    let Some(queue) = queue.filter(|_| is_over(response)) else {
        return;
    };
    let Ok(mut snapshot) = queues.get(queue).await else {
        return;
    };
    let problem = response.extensions_mut().get_mut::<Arc<Problem>>();
    let Some(problem) = problem.and_then(Arc::get_mut) else {
        return;
    };
    if snapshot.queue_state() != QueueState::Finished
        && problem.is_of_end_after(snapshot.view.now_ms)
        && let Ok(newer) = queues.get_newer_than(&snapshot).await
    {
        snapshot = newer;
    }
    problem.explain_end(snapshot.settings());
}

/// Adds what is known of the queue to a refusal, for [`insert_retry_after`]. `is_of_crowd`: see
/// [`is_sent_by_waiting_visitors`].
pub(super) fn add_refused_queue(
    queues: &QueueCache,
    queue: Option<&QueueId>,
    is_of_crowd: bool,
    response: &mut Response,
) {
    if response.status() == StatusCode::SERVICE_UNAVAILABLE
        && let Some(known) = queue.and_then(|queue| queues.refused_queue(queue))
    {
        let waiting = if is_of_crowd { known.waiting } else { 0 };
        response
            .extensions_mut()
            .insert(RefusedQueue { waiting, ..known });
    }
}

/// Whether a crowd of waiting visitors sends such requests: they enter, poll and read the public
/// document.
pub(super) fn is_sent_by_waiting_visitors(request: &Request) -> bool {
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
    if let Some(seconds) = problem.retry_after_seconds(queue, rand::random()) {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
}
