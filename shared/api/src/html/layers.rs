//! What a browser without JavaScript adds to the routes: a form as a request, and a page as the answer.

use axum::{
    body::{Body, to_bytes},
    extract::Request,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header, response::Parts},
    response::Response,
};
use serde::de::DeserializeOwned;

use vestibule_wire::Entry;

use super::{
    document::{policy, refresh_header, write_document},
    form::{into_json_request, require_own_page},
    page_request::{PageRequest, Route, form_route, is_negotiated},
    problem_screen::show_problem,
    screen::{Screen, shop_address, show_entry},
    start_screen::show_start,
};
use crate::{config::ApiConfig, problem::Problem};

const REFRESH: HeaderName = HeaderName::from_static("refresh");
/// Forms need their `Origin`, which browsers leave out with `no-referrer`. The shop gets no referrer.
const REFERRER_POLICY: HeaderValue = HeaderValue::from_static("same-origin");

/// Turns a form of an own page into the JSON request of its route, and refuses every other form.
pub(crate) fn accept_form(config: &ApiConfig, request: Request) -> Result<Request, Problem> {
    if form_route(&request).is_none() {
        return Ok(request);
    }
    require_own_page(request.headers(), config)?;
    Ok(into_json_request(request))
}

/// What the client of a request reads: JSON, or the page that is made of it.
pub(crate) enum Representation {
    /// JSON.
    Json {
        /// Whether the route has a page for other clients.
        is_negotiated: bool,
    },
    /// A page.
    Page(Box<PageRequest>),
}

impl Representation {
    /// The representation that a request asks for.
    pub(crate) fn of(request: &Request) -> Self {
        match PageRequest::read(request) {
            Some(page_request) => Self::Page(Box::new(page_request)),
            None => Self::Json {
                is_negotiated: is_negotiated(request),
            },
        }
    }

    /// Turns the JSON answer into what the client reads.
    pub(crate) async fn write(self, mut response: Response, config: &ApiConfig) -> Response {
        match self {
            Self::Json { is_negotiated } => {
                if is_negotiated {
                    response
                        .headers_mut()
                        .append(header::VARY, HeaderValue::from_static("accept"));
                }
                response
            }
            Self::Page(request) if response.status().is_success() || request.shows_problems => {
                into_page(&request, response, config).await
            }
            Self::Page(_) => response,
        }
    }
}

async fn into_page(request: &PageRequest, response: Response, config: &ApiConfig) -> Response {
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
            let policy = policy(&screen, config.local, &config.frame_ancestors);
            insert(
                &mut parts.headers,
                header::CONTENT_TYPE,
                "text/html; charset=utf-8",
            );
            insert(&mut parts.headers, header::CONTENT_SECURITY_POLICY, &policy);
            insert(&mut parts.headers, header::X_CONTENT_TYPE_OPTIONS, "nosniff");
            parts.headers.insert(header::REFERRER_POLICY, REFERRER_POLICY);
            if !config.local {
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
    let entry: Entry = parse(body)?;
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
