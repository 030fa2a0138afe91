//! The context of every request: its id, its span in the logs, and the headers that all answers have.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::{MatchedPath, RawPathParams, Request},
    http::{HeaderName, HeaderValue, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use tracing::{Instrument, Span, field, info_span};
use uuid::Uuid;
use vestibule_domain::{
    id::{EntryId, QueueId},
    poll_pacing::RefusedQueue,
};

use super::refusal::insert_retry_after;
use crate::{
    html::{read_language, translate_problem},
    problem::Problem,
    who::gateway::Gateway,
};

/// The header that identifies a request in the logs.
pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Answers a request with its id: the gateway's id or a new one, but never an id from the client. The span
/// around the handler carries this id, and the queue and the entry that the path names.
pub(crate) async fn answer_with_context(
    params: Option<&RawPathParams>,
    request: Request,
    next: Next,
) -> Response {
    let request_id = request
        .extensions()
        .get::<Gateway>()
        .and_then(|gateway| gateway.request_id.clone())
        .unwrap_or_else(|| Uuid::new_v4().to_string());
    let span = request_span(params, &request, &request_id);
    let accepted = request.headers().get(header::ACCEPT_LANGUAGE).cloned();
    let response = next.run(request).instrument(span.clone()).await;
    span.in_scope(|| complete_response(response, &request_id, accepted.as_ref()))
}

/// Answers an event of which no request for the routes could be made.
pub(crate) fn answer_without_request(problem: Problem, request_id: &str) -> Response {
    let span = info_span!("request", request_id);
    span.in_scope(|| complete_response(problem.into_response(), request_id, None))
}

/// The span names the route instead of the path, because a path that matches no route may contain
/// anything. It gets all fields at once: the log writes a span anew for each field that comes later.
fn request_span(params: Option<&RawPathParams>, request: &Request, request_id: &str) -> Span {
    let route = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
    let method = request.method().as_str();
    let param = |name| Some(params?.iter().find(|(key, _)| *key == name)?.1);
    let queue = param("queue").filter(|queue| queue.parse::<QueueId>().is_ok());
    let entry = param("token").and_then(|token| token.parse::<EntryId>().ok());
    info_span!(
        "request",
        request_id,
        method,
        route,
        queue,
        entry = entry.map(field::display)
    )
}

fn complete_response(mut response: Response, request_id: &str, accepted: Option<&HeaderValue>) -> Response {
    if let Some(problem) = response.extensions_mut().remove::<Arc<Problem>>() {
        problem.log();
        // What caches keep for all stays in English.
        let is_kept = response.headers().contains_key(header::CACHE_CONTROL);
        let translated = accepted
            .filter(|_| !is_kept)
            .and_then(|accepted| translate(problem.answer(), accepted));
        let texts = translated.map(|(language, texts)| {
            let headers = response.headers_mut();
            headers.insert(header::CONTENT_LANGUAGE, HeaderValue::from_static(language));
            texts
        });
        *response.body_mut() = Body::from(problem.body(request_id, texts));
        let refused_queue = response.extensions_mut().remove::<RefusedQueue>();
        let headers = response.headers_mut();
        headers.remove(header::CONTENT_LENGTH);
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/problem+json"),
        );
        insert_retry_after(headers, &problem, refused_queue.as_ref());
    }
    let headers = response.headers_mut();
    headers
        .entry(header::CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    if let Ok(request_id) = HeaderValue::from_str(request_id) {
        headers.insert(REQUEST_ID, request_id);
    }
    response
}

/// The language that the visitor reads, and title and detail of the problem in it. `None` for English.
fn translate(
    problem: &vestibule_wire::Problem,
    accepted: &HeaderValue,
) -> Option<(&'static str, (String, String))> {
    let language = read_language(accepted);
    let texts = translate_problem(language, problem).filter(|_| language != "en")?;
    Some((language, texts))
}
