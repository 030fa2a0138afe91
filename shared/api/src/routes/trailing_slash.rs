//! Paths of the API with a slash too many at their end. People write them, and API Gateway routes a REST API so.
//!
//! Answers refer to other paths by relative references, which a slash makes wrong. So a browser that gets a page is sent to
//! the path without the slash, and any other client gets the answer with a corrected `Location`.

use std::convert::Infallible;

use axum::{
    Router,
    extract::Request,
    http::{HeaderValue, StatusCode, Uri, header, uri::PathAndQuery},
    response::{IntoResponse, Response},
};
use tower::{ServiceExt, service_fn};

use crate::html::prefers_html;

/// The paths of the API begin so. Other paths with a slash at their end are folders of the page.
const API_PATHS: [&str; 2] = ["/queues/", "/.well-known/"];

/// A reference that begins so does not depend on the path of the request.
const COMPLETE: [&str; 3] = ["/", "https://", "http://"];

/// Leads each path of the API with slashes at its end to the route without them.
pub(super) fn lead_to_route(routes: Router) -> Router {
    Router::new().fallback_service(service_fn(move |request: Request| {
        answer(routes.clone(), request)
    }))
}

async fn answer(routes: Router, mut request: Request) -> Result<Response, Infallible> {
    let Some(uri) = without_slashes(request.uri()) else {
        return routes.oneshot(request).await;
    };
    if prefers_html(request.headers()) {
        return Ok(redirect(request.uri(), &uri));
    }
    // Each slash is a level that a relative reference has to go up.
    let levels = request.uri().path().len() - uri.path().len();
    *request.uri_mut() = uri;
    let mut response = routes.oneshot(request).await?;
    // The address of the shop is complete.
    if let Some(location) = response.headers_mut().get_mut(header::LOCATION)
        && let Ok(reference) = location.to_str()
        && !COMPLETE.iter().any(|start| reference.starts_with(start))
        && let Ok(corrected) = HeaderValue::try_from(format!("{}{reference}", "../".repeat(levels)))
    {
        *location = corrected;
    }
    Ok(response)
}

/// The address without the slashes at the end of its path. `None` if it has none, or is none of the API.
fn without_slashes(uri: &Uri) -> Option<Uri> {
    let path = uri.path().trim_end_matches('/');
    let is_of_api = API_PATHS.iter().any(|start| path.starts_with(start));
    if !is_of_api || path == uri.path() {
        return None;
    }
    let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = PathAndQuery::try_from(format!("{path}{query}")).ok();
    Uri::from_parts(parts).ok()
}

/// Sends a browser to the other address, with its method and its form, and relative to its own: behind a stage or a proxy the
/// API does not know its path.
fn redirect(from: &Uri, to: &Uri) -> Response {
    let levels = from.path().len() - to.path().len();
    let last = to.path().rsplit('/').next();
    let query = to.query().map(|query| format!("?{query}")).unwrap_or_default();
    let reference = format!("{}{}{query}", "../".repeat(levels), last.unwrap_or_default());
    let headers = [
        (header::LOCATION, reference.as_str()),
        (header::CACHE_CONTROL, "no-store"),
        (header::VARY, "accept"),
    ];
    (StatusCode::PERMANENT_REDIRECT, headers).into_response()
}

#[cfg(test)]
mod tests {
    use axum::{body::Body, routing::post};

    use super::*;

    #[tokio::test]
    async fn only_a_reference_to_this_api_is_corrected() {
        for (reference, corrected) in [
            (
                "entries/x?return=https://shop.example",
                "../entries/x?return=https://shop.example",
            ),
            ("https://shop.example/?pass=x", "https://shop.example/?pass=x"),
            ("/elsewhere", "/elsewhere"),
        ] {
            let location = [(header::LOCATION, reference)];
            let routes = Router::new().route("/queues/{queue}", post(async move || location));
            let request = Request::post("/queues/a:1/")
                .body(Body::empty())
                .expect("a request");
            let Ok(response) = lead_to_route(routes).oneshot(request).await;
            assert_eq!(response.headers()[header::LOCATION], corrected);
        }
    }
}
