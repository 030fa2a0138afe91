//! Accepts a form of an own page only (cross-site request forgery).
//!
//! A page of another site can send a form to the API, but it cannot choose the `Origin`, which every browser adds to a
//! `POST`. The cookie must be there, too: it is same-site, and without one a second click would be a second visitor.

use axum::{
    body::Body,
    extract::Request,
    http::{HeaderMap, HeaderValue, header},
};

use crate::{
    config::ApiConfig,
    problem::{Code, Problem},
    who::{page_origin::is_own_origin, visitor::has_visitor_cookie},
};

/// Refuses a form that no page of this deployment sent, or whose visitor has no cookie.
///
/// # Errors
/// [`Code::ForeignOrigin`], [`Code::CookieRequired`].
pub(super) fn require_own_page(headers: &HeaderMap, config: &ApiConfig) -> Result<(), Problem> {
    if !is_own_origin(headers, config) {
        return Err(Problem::new(
            Code::ForeignOrigin,
            "a form must come from a page of this API, with the header Origin that says so",
        ));
    }
    if !has_visitor_cookie(headers, config.local) {
        return Err(Problem::usual(Code::CookieRequired));
    }
    Ok(())
}

/// Turns a form without fields into the JSON request that does the same.
pub(super) fn into_json_request(request: Request) -> Request {
    let (mut parts, _) = request.into_parts();
    for name in [header::CONTENT_LENGTH, header::TRANSFER_ENCODING] {
        parts.headers.remove(name);
    }
    let json = HeaderValue::from_static("application/json");
    parts.headers.insert(header::CONTENT_TYPE, json);
    Request::from_parts(parts, Body::empty())
}
