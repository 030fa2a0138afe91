//! The two layers around the routes.

use std::sync::Arc;

use axum::{
    body::{Body, to_bytes},
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header, response::Parts},
    middleware::Next,
    response::{IntoResponse, Response},
};
use serde::de::DeserializeOwned;

use super::{
    answer::EntryAnswer,
    document::{policy, refresh_header, write_document},
    form::{into_json_request, require_own_page},
    page_request::{PageRequest, Route, form_route, is_negotiated},
    problem_screen::show_problem,
    screen::{Screen, shop_address, show_entry},
    start_screen::show_start,
};
use crate::state::ApiState;

const REFRESH: HeaderName = HeaderName::from_static("refresh");
/// Forms need their `Origin`, which browsers leave out with `no-referrer`. The shop gets no referrer.
const REFERRER_POLICY: HeaderValue = HeaderValue::from_static("same-origin");

/// Turns a form of an own page into the JSON request of its route, and refuses every other form. This layer is within
/// the one that writes problems.
pub(crate) async fn accept_form(
    State(state): State<Arc<ApiState>>,
    request: Request,
    next: Next,
) -> Response {
    if form_route(&request).is_none() {
        return next.run(request).await;
    }
    match require_own_page(request.headers(), &state.config) {
        Ok(()) => next.run(into_json_request(request)).await,
        Err(problem) => problem.into_response(),
    }
}

/// Turns the JSON answer to a browser into a page. This layer is around all others.
pub(crate) async fn show_page(State(state): State<Arc<ApiState>>, request: Request, next: Next) -> Response {
    let Some(page_request) = PageRequest::read(&request) else {
        let is_negotiated = is_negotiated(&request);
        let mut response = next.run(request).await;
        if is_negotiated {
            response
                .headers_mut()
                .append(header::VARY, HeaderValue::from_static("accept"));
        }
        return response;
    };
    let response = next.run(request).await;
    if !response.status().is_success() && !page_request.shows_problems {
        return response;
    }
    into_page(&page_request, response, &state).await
}

async fn into_page(request: &PageRequest, response: Response, state: &ApiState) -> Response {
    let (mut parts, body) = response.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
    let Some(answer) = read_answer(request, &parts, &body) else {
        return Response::from_parts(parts, Body::from(body));
    };
    for name in [header::CONTENT_TYPE, header::CONTENT_LENGTH, header::LOCATION] {
        parts.headers.remove(name);
    }
    let vary = HeaderValue::from_static("accept, accept-language");
    parts.headers.append(header::VARY, vary);
    // The page may be of a route whose JSON caches may keep.
    insert(&mut parts.headers, header::CACHE_CONTROL, "no-store");
    match answer {
        PageAnswer::Redirect(reference) => {
            parts.status = StatusCode::SEE_OTHER;
            insert(&mut parts.headers, header::LOCATION, &reference);
            Response::from_parts(parts, Body::empty())
        }
        PageAnswer::Screen(screen) => {
            let policy = policy(&screen, state.config.local, &state.config.frame_ancestors);
            insert(
                &mut parts.headers,
                header::CONTENT_TYPE,
                "text/html; charset=utf-8",
            );
            insert(&mut parts.headers, header::CONTENT_SECURITY_POLICY, &policy);
            insert(&mut parts.headers, header::X_CONTENT_TYPE_OPTIONS, "nosniff");
            parts.headers.insert(header::REFERRER_POLICY, REFERRER_POLICY);
            if !state.config.local {
                insert(
                    &mut parts.headers,
                    header::STRICT_TRANSPORT_SECURITY,
                    "max-age=31536000",
                );
            }
            if let Some(refresh) = refresh_header(request, &screen) {
                insert(&mut parts.headers, REFRESH, &refresh);
            }
            Response::from_parts(parts, Body::from(write_document(request, &screen)))
        }
    }
}

/// What a browser gets.
enum PageAnswer {
    Screen(Box<Screen>),
    /// See there.
    Redirect(String),
}

/// Reads the JSON answer. `None` if it is none of those that pages show.
fn read_answer(request: &PageRequest, parts: &Parts, body: &[u8]) -> Option<PageAnswer> {
    if !parts.status.is_success() {
        let retry_after = parts.headers.get(header::RETRY_AFTER);
        let retry_after = retry_after.and_then(|value| value.to_str().ok()?.parse().ok());
        let screen = show_problem(request, &parse(body)?, retry_after);
        return Some(PageAnswer::Screen(Box::new(screen)));
    }
    if request.route == Route::Start {
        return Some(PageAnswer::Screen(Box::new(show_start(request, &parse(body)?))));
    }
    let entry: EntryAnswer = parse(body)?;
    Some(match request.route {
        Route::Claim => PageAnswer::Redirect(
            shop_address(request, &entry).unwrap_or_else(|| request.entry_reference(&entry.token)),
        ),
        Route::Enter => PageAnswer::Redirect(request.entry_reference(&entry.token)),
        Route::Start | Route::Entry => PageAnswer::Screen(Box::new(show_entry(request, &entry))),
    })
}

fn parse<T: DeserializeOwned>(body: &[u8]) -> Option<T> {
    serde_json::from_slice(body).ok()
}

/// Inserts a header whose value is ASCII: everything else in it is percent-encoded.
fn insert(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}
